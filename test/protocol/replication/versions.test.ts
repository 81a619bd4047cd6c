import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { includes, joined, type VersionVector } from '../../../protocol/base/version-vector.js';
import { memoryKind } from '../../../protocol/memory/memory-kind.js';
import { type HistoricEdit, loserOf, lossesAmong, maximal } from '../../../protocol/replication/versions.js';

/** Random numbers of a seed, the same on every run. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

const KINDS = ['store', 'update', 'update', 'life', 'delete', 'archive', 'restore', 'expire'];

/** The operations on one memory of some nodes that hear of each other now and then. */
function history(seed: number): HistoricEdit[] {
  const roll = dice(seed);
  const nodes = Array.from({ length: 1 + roll(4) }, (_, at) => ({
    origin: `peer-${at}/e`,
    seq: 0,
    seen: {} as VersionVector,
  }));
  const operations: HistoricEdit[] = [];
  for (let at = 0; at < 30; at += 1) {
    const node = nodes[roll(nodes.length)]!;
    if (roll(2) === 0) node.seen = joined([node.seen, nodes[roll(nodes.length)]!.seen]);
    node.seq += 1 + roll(3);
    const { origin, seq, seen } = node;
    operations.push({
      hlc: `${1000 + roll(40)}`,
      origin,
      seq,
      kind: KINDS[roll(KINDS.length)]!,
      seen,
    });
    node.seen = { ...seen, [origin]: seq };
  }
  return operations.toSorted(() => roll(3) - 1);
}

const dot = ({ origin, seq }: HistoricEdit) => `${origin}/${seq}`;
const each = (check: (operations: readonly HistoricEdit[], seed: number) => void) => {
  for (let seed = 1; seed <= 500; seed += 1) check(history(seed), seed);
};

describe("one subject's operations", () => {
  it('have as maximal ones those that none of the others follows', () => {
    let several = 0;
    each((operations, seed) => {
      const follows = (one: HistoricEdit, other: HistoricEdit) =>
        (one.origin === other.origin && one.seq > other.seq) || includes(one.seen, other.origin, other.seq);
      const expected = operations.filter((other) => !operations.some((one) => follows(one, other)));
      assert.deepEqual(maximal(operations).map(dot), expected.map(dot), `seed ${seed}`);
      if (expected.length > 1) several += 1;
    });
    assert.ok(several > 100);
  });

  it('have one maximal at least, whatever they say of themselves', () => {
    const boasting = { ...history(7)[0]!, origin: 'peer-x/e', seq: 3, seen: { 'peer-x/e': 9 } };
    const next = { ...boasting, seq: 5 };
    assert.deepEqual(maximal([boasting]), [boasting]);
    assert.deepEqual(maximal([boasting, next]), [next]);
  });

  it('have as losers those of every pair', () => {
    let losses = 0;
    each((operations, seed) => {
      const pairs = operations.flatMap((one, at) =>
        operations.slice(at + 1).flatMap((other) => loserOf(memoryKind, one, other) ?? []),
      );
      const named = (all: readonly { loser: HistoricEdit; winner: HistoricEdit }[]) =>
        all.map(({ loser, winner }) => `${dot(loser)} < ${dot(winner)}`).sort();
      assert.deepEqual(named(lossesAmong(memoryKind, operations)), named(pairs), `seed ${seed}`);
      losses += pairs.length;
    });
    assert.ok(losses > 1000);
  });
});

describe('a version vector', () => {
  it('joins names that every object has, as rows of earlier releases may hold them', () => {
    assert.deepEqual(
      joined([{ toString: 3 }, { toString: 5, constructor: 1 }] as unknown as VersionVector[]),
      {
        toString: 5,
        constructor: 1,
      },
    );
  });
});
