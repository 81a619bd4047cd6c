import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LexicalScorer, PairWeights } from '../../../protocol/ranking/lexical.js';
import { PhraseMatcher } from '../../../protocol/ranking/phrases.js';
import { analyseQuery, QUERY_PHRASES_MAX } from '../../../protocol/ranking/query.js';
import { TextMatcher } from '../../../protocol/ranking/text-match.js';
import { RANKING_WEIGHTS } from '../../../protocol/ranking/weights.js';
import fc from '../../support/properties.js';

function countOfPhrases(query: string, text: string): number {
  const analysis = analyseQuery(query);
  let mask = new PhraseMatcher(analysis.phrases).match(text, new TextMatcher(analysis.terms).match(text));
  let count = 0;
  for (; mask !== 0; mask &= mask - 1) count += 1;
  return count;
}

/** The order of texts by their lexical score, words of equal weight. */
function bestOf(query: string, texts: readonly string[]): string | undefined {
  const analysis = analyseQuery(query);
  const idf = new Float64Array(analysis.terms.length).fill(1);
  const scorer = new LexicalScorer(analysis, { idf, telling: idf }, 10, RANKING_WEIGHTS);
  const evidence = texts.map((text) => ({ evidence: scorer.score('', text, '') }));
  const weights = new PairWeights(evidence, evidence.length, RANKING_WEIGHTS);
  const scores = evidence.map((row) => weights.score(row.evidence));
  return texts[scores.indexOf(Math.max(...scores))];
}

test('a possessor is found in the words of the one who tells', () => {
  assert.equal(countOfPhrases("Ann's garden", 'we sat in my garden'), 1);
  assert.equal(countOfPhrases('their garden', 'OUR Garden'), 1);
  assert.equal(countOfPhrases("Ann's garden", 'Ann’s garden'), 2);
});

test('a function word counts on the side and within the reach where the query has it', () => {
  assert.equal(countOfPhrases('afraid of dogs', 'afraid of cats'), 1);
  assert.equal(countOfPhrases('afraid of dogs', 'afraid of big dogs'), 2);
  assert.equal(countOfPhrases('afraid of dogs', 'dogs of war'), 0);
  assert.equal(countOfPhrases('afraid of dogs', 'of many, many dogs'), 0);
});

test('a phrase does not run over the end of a line', () => {
  assert.equal(countOfPhrases('beside her garden', 'called her\ngarden work'), 0);
  assert.equal(countOfPhrases('garden with', 'garden\r\nwith'), 0);
});

test('letters outside ASCII are part of a word and never of a function word', () => {
  assert.equal(countOfPhrases('my garden', 'émy garden'), 0);
  assert.equal(countOfPhrases('my garden', '你my garden'), 0);
  assert.equal(countOfPhrases('my garden', '“my” garden'), 1);
});

test('of texts with the same words the one with the same phrase comes first', () => {
  const same = 'they sat in my garden';
  const texts = ['they sat in a garden', 'garden of my aunt', same, 'nothing of it'];
  assert.equal(bestOf('What grows in his garden?', texts), same);
});

test('phrases are distinct, bounded and name existing terms; no text breaks the search for them', () => {
  const word = fc.constantFrom(...'my the of to is garden dog paints Ann s été 你 x'.split(' '));
  const texts = fc.array(fc.oneof(word, fc.constantFrom('\n', '’', '😀', ' ', ',')), { maxLength: 80 });
  fc.assert(
    fc.property(texts, texts, (query, text) => {
      const analysis = analyseQuery(query.join(' '));
      const names = analysis.phrases.map(({ term, particle, before }) => `${term} ${particle} ${before}`);
      assert.equal(new Set(names).size, names.length);
      assert.ok(names.length <= QUERY_PHRASES_MAX);
      for (const { term } of analysis.phrases) assert.ok(analysis.terms[term] !== undefined);
      assert.ok(countOfPhrases(query.join(' '), text.join('')) <= names.length);
    }),
  );
});
