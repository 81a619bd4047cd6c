import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { analyseQuery } from '../../../protocol/ranking/query.js';

interface Paraphrase {
  readonly query: string;
  readonly title: string;
  readonly content: string;
}

const paraphrases = JSON.parse(readFileSync('fixtures/paraphrases.json', 'utf8')) as readonly Paraphrase[];

test('there are sixty paraphrases or more, all different', () => {
  assert.ok(paraphrases.length >= 60);
  assert.equal(new Set(paraphrases.map((pair) => pair.title)).size, paraphrases.length);
  assert.equal(new Set(paraphrases.map((pair) => pair.query)).size, paraphrases.length);
});

test('a paraphrase shares no content word with its memory, whatever its ending', () => {
  for (const { query, title, content } of paraphrases) {
    const asked = analyseQuery(query);
    assert.equal(asked.onlyStopWords, false, query);
    const said = new Set(
      `${title} ${content}`.split(/\s+/).flatMap((word) => analyseQuery(word).terms.map((term) => term.stem)),
    );
    const shared = asked.terms.filter((term) => said.has(term.stem));
    assert.deepEqual(shared, [], query);
  }
});
