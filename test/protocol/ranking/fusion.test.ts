import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boostOf,
  type Candidate,
  fuse,
  REORDERED_ROWS,
  reorderFirst,
} from '../../../protocol/ranking/fusion.js';
import { inverseFrequency } from '../../../protocol/ranking/lexical.js';
import { RANKING_WEIGHTS } from '../../../protocol/ranking/weights.js';
import fc from '../../support/properties.js';

const plain: Candidate = {
  rid: 1,
  lexical: 0,
  lexicalContext: 0,
  semantic: null,
  semanticContext: null,
  tier: 'mid',
  priority: 5,
  confidence: 1,
  ageDays: 1,
};

const evidence = fc.double({ min: 0, max: 1e6, noNaN: true });
const deviations = fc.option(fc.double({ min: -50, max: 50, noNaN: true }), { nil: null });
const candidates = fc
  .array(
    fc.record({
      lexical: evidence,
      lexicalContext: evidence,
      semantic: deviations,
      semanticContext: deviations,
      tier: fc.constantFrom('short', 'mid', 'long', 'unknown'),
      priority: fc.integer({ min: -5, max: 50 }),
      confidence: fc.double({ min: -1, max: 2, noNaN: true }),
      ageDays: fc.double({ min: 0, max: 1e5 }),
    }),
    { maxLength: 40 },
  )
  .map((rows): Candidate[] => rows.map((row, index) => ({ ...row, rid: index + 1 })));

test('scores are finite, above 0 and descending, and no row is lost', () => {
  fc.assert(
    fc.property(candidates, fc.double({ min: 0, max: 3 }), (rows, strength) => {
      const ranked = fuse(rows, Number.isNaN(strength) ? 0 : strength, RANKING_WEIGHTS);
      assert.equal(new Set(ranked.map((row) => row.rid)).size, rows.length);
      ranked.forEach((row, index) => {
        assert.ok(Number.isFinite(row.score) && row.score > 0);
        assert.ok(index === 0 || row.score <= (ranked[index - 1]?.score ?? 0));
      });
    }),
  );
});

test('boosts are neutral when all rows are equal in them', () => {
  const boost = fc.record({
    tier: fc.constantFrom('short', 'mid', 'long'),
    priority: fc.integer({ min: 1, max: 10 }),
    confidence: fc.double({ min: 0, max: 1, noNaN: true }),
    ageDays: fc.double({ min: 0, max: 1000, noNaN: true }),
  });
  const scores = fc.uniqueArray(fc.integer({ min: 0, max: 1000 }), { minLength: 2, maxLength: 20 });
  fc.assert(
    fc.property(scores, boost, (lexical, same) => {
      const rows = lexical.map((score, index) => ({ ...plain, ...same, rid: index + 1, lexical: score }));
      const byLexical = [...rows].sort((left, right) => right.lexical - left.lexical).map((row) => row.rid);
      assert.deepEqual(
        fuse(rows, 1, RANKING_WEIGHTS).map((row) => row.rid),
        byLexical,
      );
    }),
  );
});

test('no boost buries a match that explains the query over one that explains four fifths of it', () => {
  const exact = { ...plain, rid: 1, lexical: 10, tier: 'short', priority: 1, confidence: 0, ageDays: 4000 };
  const boosted = { ...plain, rid: 2, lexical: 8, tier: 'long', priority: 10, confidence: 1, ageDays: 0 };
  assert.equal(fuse([boosted, exact], 1, RANKING_WEIGHTS)[0]?.rid, 1);
  assert.ok(boostOf(boosted, RANKING_WEIGHTS) > boostOf(exact, RANKING_WEIGHTS));
});

test('semantics carries where no word overlaps, and lexical evidence leads where the query is explained', () => {
  const worded = { ...plain, rid: 1, lexical: 5, semantic: 0 };
  const similar = { ...plain, rid: 2, lexical: 0, semantic: 4 };
  assert.equal(fuse([worded, similar], 1, RANKING_WEIGHTS)[0]?.rid, 1);
  assert.equal(fuse([worded, similar], 0.15, RANKING_WEIGHTS)[0]?.rid, 2);
  assert.equal(fuse([{ ...worded, lexical: 0 }, similar], 0, RANKING_WEIGHTS)[0]?.rid, 2);
});

test('the odds of single rows move the first rows only where words explain little, and scores stay with the places', () => {
  const odds = fc.array(fc.double({ min: -20, max: 20, noNaN: true }), { minLength: 41, maxLength: 41 });
  fc.assert(
    fc.property(candidates, odds, fc.double({ min: 0, max: 1, noNaN: true }), (rows, own, strength) => {
      const fused = fuse(rows, strength, RANKING_WEIGHTS);
      const ordered = reorderFirst(fused, strength, RANKING_WEIGHTS, (rid) => own[rid]!);
      const places = (some: typeof fused) => some.map(({ score, share }) => [score, share]);
      assert.deepEqual(places(ordered), places(fused));
      const rids = (some: typeof fused) => some.map(({ rid }) => rid);
      assert.deepEqual(rids(ordered).sort(), rids(fused).sort());
      assert.deepEqual(rids(ordered).slice(REORDERED_ROWS), rids(fused).slice(REORDERED_ROWS));
      if (strength >= RANKING_WEIGHTS.strengthFull) assert.deepEqual(ordered, fused);
      assert.deepEqual(rids(reorderFirst(fused, strength, RANKING_WEIGHTS, () => 1)), rids(fused));
    }),
  );
  const worded = { ...plain, rid: 1, lexical: 5 };
  const likelier = { ...plain, rid: 2, lexical: 4 };
  const first = (strength: number) =>
    reorderFirst(
      fuse([worded, likelier], strength, RANKING_WEIGHTS),
      strength,
      RANKING_WEIGHTS,
      (rid) => rid,
    )[0];
  assert.equal(first(0.2)?.rid, 2);
  assert.equal(first(0.5)?.rid, 1);
});

test('equal rows come newest first', () => {
  const rows = [1, 3, 2].map((rid) => ({ ...plain, rid }));
  assert.deepEqual(
    fuse(rows, 1, RANKING_WEIGHTS).map((row) => row.rid),
    [3, 2, 1],
  );
});

test('a word tells less the more rows have it, and never less than nothing', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), fc.nat(), fc.nat(), (rows, one, other) => {
      const [few, many] = [Math.min(one, other) % (rows + 1), Math.max(one, other)];
      assert.ok(inverseFrequency(rows, Math.max(few, many)) <= inverseFrequency(rows, few));
      assert.ok(inverseFrequency(rows, many) > 0);
    }),
  );
});
