import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { indexedText, TEXT_RULES } from '../../../protocol/ranking/index-text.js';
import { analyseQuery, termExpression } from '../../../protocol/ranking/query.js';
import { isHead, TextMatcher } from '../../../protocol/ranking/text-match.js';
import { partsOf, tailsOf } from '../../../protocol/ranking/words.js';

interface Fixture {
  readonly notes: readonly { readonly id: string; readonly title: string; readonly content: string }[];
  readonly questions: readonly { readonly text: string }[];
  readonly unanswerable: readonly string[];
}

const { notes, questions, unanswerable } = JSON.parse(readFileSync('fixtures/notes.json', 'utf8')) as Fixture;

const termsOf = (text: string) => indexedText(text).slice(text.length).trim().split(' ');

describe('the terms of a text', () => {
  it('are none for plain English', () => {
    const text = 'The planner warms its cache for 15 minutes; see docs/plan.md, ERR_CONN_RESET.';
    assert.equal(indexedText(text), text);
  });

  it('are pairs of letters where no spaces part words, in order, down to the last letter', () => {
    assert.deepEqual(termsOf('倉庫の前'), ['倉庫', '庫の', 'の前', '前']);
  });

  it('are the parts of an identifier', () => {
    assert.deepEqual(termsOf('parseUserToken'), ['parse', 'user', 'token']);
    assert.deepEqual(partsOf('HTTPServer2'), ['http', 'server', '2']);
    assert.deepEqual(partsOf('userIDs'), ['user', 'ids']);
    assert.deepEqual(partsOf('E11000'), ['e', '11000']);
  });

  it('are not the parts of a hash', () => {
    const hash = '9f8e7d6c5b4a39281706f5e4d3c2b1a0';
    assert.equal(indexedText(hash), hash);
  });

  it('are the ends of a German compound', () => {
    assert.ok(tailsOf('wartungsvertrag').includes('vertrag'));
    assert.ok(termsOf('Datenschutzbeauftragte').includes('beauftragte'));
  });

  it('change only with the number of the rules', () => {
    const all = notes.map(({ title, content }) => indexedText(`${title}\n${content}`)).join('\n');
    const digest = createHash('sha256').update(all).digest('hex').slice(0, 16);
    const known: Readonly<Record<number, string>> = { 1: '2971d4445829a737' };
    assert.equal(digest, known[TEXT_RULES], 'the terms have changed: TEXT_RULES needs a new number');
  });
});

describe('index and ranking', () => {
  it('find the same rows for every term of every question', () => {
    const database = new Database(':memory:');
    database.exec(
      `CREATE VIRTUAL TABLE texts USING fts5(body, tokenize = 'porter unicode61 remove_diacritics 2')`,
    );
    const insert = database.prepare('INSERT INTO texts (rowid, body) VALUES (?, ?)');
    const texts = notes.map(({ title, content }) => `${title}\n${content}`);
    for (const [at, text] of texts.entries()) insert.run(at, indexedText(text));
    const listing = database.prepare('SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid').pluck();
    for (const question of [...questions.map(({ text }) => text), ...unanswerable]) {
      for (const term of analyseQuery(question).terms) {
        // A part of another term may be in a row without it, by the expression for a written identifier.
        if (term.parts.length > 0) continue;
        const matcher = new TextMatcher([term]);
        const matched = texts.flatMap((text, at) => ((matcher.match(text).counts[0] ?? 0) > 0 ? [at] : []));
        const ways = [termExpression(term)];
        if (isHead(term)) ways.push(`"${term.word}" *`);
        assert.deepEqual(listing.all(ways.join(' OR ')), matched, `${term.word} of ${question}`);
      }
    }
    database.close();
  });
});
