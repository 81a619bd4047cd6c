import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { indexedText } from '../../../protocol/ranking/index-text.js';
import { analyseQuery, termExpression } from '../../../protocol/ranking/query.js';
import { isHead, TextMatcher } from '../../../protocol/ranking/text-match.js';

interface Fixture {
  readonly notes: readonly { readonly id: string; readonly title: string; readonly content: string }[];
  readonly questions: readonly { readonly text: string }[];
  readonly unanswerable: readonly string[];
}

const { notes, questions, unanswerable } = JSON.parse(readFileSync('fixtures/notes.json', 'utf8')) as Fixture;

export const TEXTS = notes.map(({ title, content }) => `${title}\n${content}`);
export const QUESTIONS = [...questions.map(({ text }) => text), ...unanswerable];

/** Whether the index and the ranking find the same rows for every term of these questions. */
export function findTheSame(asked: readonly string[]): void {
  const database = new Database(':memory:');
  database.exec(
    `CREATE VIRTUAL TABLE texts USING fts5(body, tokenize = 'porter unicode61 remove_diacritics 2')`,
  );
  const insert = database.prepare('INSERT INTO texts (rowid, body) VALUES (?, ?)');
  for (const [at, text] of TEXTS.entries()) insert.run(at, indexedText(text));
  const listing = database.prepare('SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid').pluck();
  let compared = 0;
  for (const question of asked) {
    for (const term of analyseQuery(question).terms) {
      // A part of another term may be in a row without it, by the expression for a written identifier.
      if (term.parts.length > 0) continue;
      const matcher = new TextMatcher([term]);
      const matched = TEXTS.flatMap((text, at) => ((matcher.match(text).counts[0] ?? 0) > 0 ? [at] : []));
      const ways = [termExpression(term)];
      if (isHead(term)) ways.push(`"${term.word}" *`);
      assert.deepEqual(listing.all(ways.join(' OR ')), matched, `${term.word} of ${question}`);
      compared += 1;
    }
  }
  database.close();
  assert.ok(compared >= asked.length, `${compared} terms of ${asked.length} questions`);
}
