import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { stemOf } from '../../../protocol/ranking/porter.js';
import { analyseQuery, QUERY_TERMS_MAX } from '../../../protocol/ranking/query.js';
import { quoted } from '../../../protocol/ranking/quoted.js';
import { TextMatcher } from '../../../protocol/ranking/text-match.js';
import { wordsOf } from '../../../protocol/ranking/tokens.js';
import fc from '../../support/properties.js';

const TEXTS = [
  "don't Café über-cool 你好世界 naïve_x C++ 3.14 ½ ² O’Neil ＡＢＣ İstanbul ß Ångström emoji😀test",
  'e\u0301a na\u0308ive snake_case kebab-case a.b@c.d #tag 1st 2nd',
  'Straße Привет ёлка ไทย 日本語テスト x² H₂O',
];

/** The terms that FTS5 makes of a text, in order. */
function indexed(text: string, tokenizer: string): string[] {
  const database = new Database(':memory:');
  database.exec(`CREATE VIRTUAL TABLE texts USING fts5(body, tokenize = '${tokenizer}');
    CREATE VIRTUAL TABLE terms USING fts5vocab(texts, 'instance')`);
  database.prepare('INSERT INTO texts VALUES (?)').run(text);
  const terms = database.prepare('SELECT term FROM terms ORDER BY offset').pluck().all() as string[];
  database.close();
  return terms;
}

test('words are split and folded as the full-text index does', () => {
  for (const text of TEXTS) {
    assert.deepEqual(wordsOf(text), indexed(text, 'unicode61 remove_diacritics 2'));
  }
});

test('any ASCII text is split as the full-text index does', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', maxLength: 60 }), (text) => {
      const clean = text.replaceAll('\0', ' ');
      assert.deepEqual(wordsOf(clean), indexed(clean, 'unicode61 remove_diacritics 2'));
    }),
    { numRuns: 150 },
  );
});

test('stems are those of the porter tokenizer', () => {
  const part = fc.constantFrom(
    ...'a e y st tion ing ed s ies sses ational iviti ness bl at iz l ll ss eed ion ment ally'.split(' '),
    ...'fulness o b w logi ement ator er ous ence ize ical ative ful t xy ity able'.split(' '),
  );
  const word = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(word, { minLength: 200, maxLength: 200 }), (words) => {
      assert.deepEqual(words.map(stemOf), indexed(words.join(' '), 'porter unicode61'));
    }),
    { numRuns: 20 },
  );
});

test('stop-words and question words are dropped, and kept when there is nothing else', () => {
  assert.deepEqual(
    analyseQuery('When did Caroline go to the parade?').terms.map((term) => term.word),
    ['caroline', 'parade'],
  );
  const only = analyseQuery('what is this about');
  assert.equal(only.onlyStopWords, true);
  assert.deepEqual(
    only.terms.map((term) => term.word),
    ['what', 'is', 'this', 'about'],
  );
});

test('a query without words has no terms', () => {
  for (const query of ['', '   ', '"" * () : ^ - +', '😀 — …']) {
    assert.deepEqual(analyseQuery(query), { terms: [], pairs: [], phrases: [], onlyStopWords: false });
  }
});

test('may is a month beside a number and a stop-word otherwise', () => {
  const words = (query: string) => analyseQuery(query).terms.map((term) => term.word);
  assert.deepEqual(words('trips in May 2023'), ['trips', 'may', '2023']);
  assert.deepEqual(words('what may break'), ['break']);
});

test('terms are distinct by stem and bounded', () => {
  const { terms } = analyseQuery('connect connected connecting connection');
  assert.equal(terms.length, 1);
  const many = Array.from({ length: 200 }, (_none, index) => `word${index}`).join(' ');
  assert.equal(analyseQuery(many).terms.length, QUERY_TERMS_MAX);
});

test('quoting leaves nothing that the index reads as syntax', () => {
  assert.equal(quoted('a"b'), '"a""b"');
});

test('a matcher finds exactly the words that share a stem with a term', () => {
  const text = 'Painted paintings, PAINT! The boat saw naïve ski skies and snow.';
  const query = 'painting naive sky ski';
  const { terms } = analyseQuery(query);
  const match = new TextMatcher(terms).match(text);
  const expected = terms.map((term) => wordsOf(text).filter((word) => stemOf(word) === term.stem).length);
  assert.deepEqual([...match.counts], expected);
  assert.equal(match.words, wordsOf(text).length);
  assert.ok((expected[0] ?? 0) >= 3);
});

test('a matcher counts a part of a word as half, and each letter of a script without spaces as a word', () => {
  const countsIn = (text: string, query: string) => [
    ...new TextMatcher(analyseQuery(query).terms).match(text).counts,
  ];
  assert.deepEqual(countsIn('The painter and a painting', 'painting'), [1.5]);
  assert.deepEqual(countsIn('Der Wartungsvertrag, ein Vertrag', 'Vertrag'), [1.5]);
  assert.deepEqual(countsIn('parseUserToken, the user', 'user'), [1.5]);
  assert.deepEqual(countsIn('你好世界, 世界', '世界'), [2]);
  assert.equal(new TextMatcher([]).match('你好 world').words, 3);
});

test('another form of an irregular word is the same word', () => {
  const [term] = analyseQuery('Where did Ann buy it?').terms.slice(1);
  assert.deepEqual(term?.also, ['bought']);
  assert.deepEqual([...new TextMatcher([term!]).match('I bought it, she buys').counts], [2]);
  assert.deepEqual(analyseQuery('driving').terms[0]?.also, ['drove', 'driven']);
});
