import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ACCESS_COUNT_MAX,
  EXTEND_SECONDS,
  LIFE_INTERVAL_SECONDS,
  PROMOTE_ACCESS_COUNT,
} from '../../../protocol/base/limits.js';
import { isMutation, type Mutation, type Write } from '../../../protocol/decide/mutations.js';
import type { LifePolicy } from '../../../protocol/memory/life-policy.js';
import type { Memory, MemoryRow } from '../../../protocol/memory/memory.js';
import { countAccess } from '../../../protocol/memory/mutations.js';
import type { TouchMemories } from '../../../protocol/memory/touch.js';
import fc from '../../support/properties.js';
import { aRow, at, decideOver, NOW, NOW_MS, taken } from '../decide/answerer.js';

const POLICY: LifePolicy = { extendSeconds: EXTEND_SECONDS, promoteAccessCount: PROMOTE_ACCESS_COUNT };
const HOUR = 3600;
const DAY = 86_400;

const touching = (count = 1, ...ids: string[]): TouchMemories => ({
  kind: 'touch-memories',
  touches: (ids.length === 0 ? ['m1'] : ids).map((id) => ({ id, count, lastAt: NOW })),
  policy: POLICY,
});
const row = (fields: Partial<MemoryRow> = {}) => aRow({ id: 'm1', ...fields });

/** The operation that moves the life of a memory, if there is one. */
function lifeOf(mutations: readonly Mutation[]): Write<Memory> | undefined {
  const write = mutations.find((mutation) => mutation.mutation === 'write');
  assert.ok(write === undefined || (write.kind === 'memory' && write.before !== null));
  return write as Write<Memory> | undefined;
}

/** The mutation that moves the life of a row. */
const lifeWrite = (before: MemoryRow, changes: Partial<MemoryRow>): Write<Memory> => ({
  mutation: 'write',
  kind: 'memory',
  word: 'life',
  id: before.id,
  namespace: before.namespace,
  seen: before.seen,
  before,
  image: { ...before, ...changes },
  reembed: false,
  lifeAt: NOW,
});

/** What one touch makes of a row: the access that it counts, and the life operation if there is one. */
function touched(fields: Partial<MemoryRow>, count = 1) {
  const { value, mutations } = taken(decideOver(touching(count), [row(fields)]));
  const life = lifeOf(mutations);
  const access = mutations.find((mutation) => isMutation(mutation, countAccess));
  assert.equal(mutations.length, life === undefined ? 1 : 2);
  return { value, life, access: access! };
}

describe('a touch', () => {
  it('counts the access, locally', () => {
    const { value, life, access } = touched({ access_count: 2 });
    assert.deepEqual(value, { touched: 1, promoted: [], used: 0 });
    assert.equal(life, undefined);
    assert.deepEqual(access, { mutation: 'count-access', id: 'm1', accessCount: 3, lastAccessedAt: NOW });
  });

  it('counts all that were coalesced, up to the cap', () => {
    assert.equal(touched({ access_count: 2, tier: 'long' }, 40).access.accessCount, 42);
    const full = touched({ access_count: ACCESS_COUNT_MAX - 1, tier: 'long' }, 5);
    assert.equal(full.access.accessCount, ACCESS_COUNT_MAX);
  });

  it('never moves the last access back', () => {
    assert.equal(touched({ last_accessed_at: at(5) }).access.lastAccessedAt, at(5));
    assert.equal(touched({ last_accessed_at: at(-5) }).access.lastAccessedAt, NOW);
  });

  it('skips what is gone or expired, and goes on', () => {
    const rows = [row({ id: 'here' }), row({ id: 'expired', expires_at: NOW })];
    const { value, mutations } = taken(decideOver(touching(1, 'gone', 'expired', 'here'), rows));
    assert.deepEqual(value, { touched: 1, promoted: [], used: 0 });
    assert.deepEqual(
      mutations.map((mutation) => 'id' in mutation && mutation.id),
      ['here'],
    );
  });
});

describe('the expiry of a touched row', () => {
  it('moves to an hour from now for short and 90 days for mid, as a replicated life operation', () => {
    for (const [tier, seconds] of [
      ['short', HOUR],
      ['mid', 90 * DAY],
    ] as const) {
      const before = row({ tier, expires_at: at(60), version: 3, updated_at: at(-9) });
      const { life } = touched(before);
      assert.deepEqual(life, lifeWrite(before, { expires_at: at(seconds) }));
    }
  });

  it('never moves earlier: a row that lives longer stays as it is', () => {
    for (const seconds of [HOUR, HOUR + 1, 30 * DAY]) {
      assert.equal(touched({ tier: 'short', expires_at: at(seconds) }).life, undefined, String(seconds));
    }
    assert.notEqual(touched({ tier: 'short', expires_at: at(HOUR - 0.001) }).life, undefined);
  });

  it('is not invented for a row without one, nor moved for a long row', () => {
    assert.equal(touched({ tier: 'mid', expires_at: null }).life, undefined);
    assert.equal(touched({ tier: 'short', expires_at: null }).life, undefined);
    assert.equal(touched({ tier: 'long', expires_at: at(60) }).life, undefined);
  });

  it('moves at most once a day for mid, and once an hour for a shorter extension', () => {
    const mid = { tier: 'mid' as const, expires_at: at(90 * DAY - 60) };
    assert.equal(touched({ ...mid, life_at: at(-60) }).life, undefined);
    assert.equal(touched({ ...mid, life_at: at(-DAY + 0.001) }).life, undefined);
    assert.notEqual(touched({ ...mid, life_at: at(-DAY) }).life, undefined);
    assert.notEqual(touched({ ...mid, life_at: null, created_at: at(-DAY) }).life, undefined);
    assert.equal(
      touched({ ...mid, life_at: null, created_at: at(-DAY + 1) }).life,
      undefined,
      'nor soon after its store',
    );
    const short = { tier: 'short' as const, expires_at: at(HOUR - 60) };
    assert.equal(touched({ ...short, life_at: at(-LIFE_INTERVAL_SECONDS + 0.001) }).life, undefined);
    assert.notEqual(touched({ ...short, life_at: at(-LIFE_INTERVAL_SECONDS) }).life, undefined);
  });

  it('moves sooner when less than half of the extension is left', () => {
    const short = (left: number) => touched({ tier: 'short', expires_at: at(left), life_at: at(-60) }).life;
    assert.equal(short(HOUR / 2), undefined);
    assert.notEqual(short(HOUR / 2 - 0.001), undefined);
    const mid = (left: number) => touched({ tier: 'mid', expires_at: at(left), life_at: at(-60) }).life;
    assert.equal(mid(45 * DAY), undefined);
    assert.notEqual(mid(45 * DAY - 0.001), undefined);
  });

  it('cannot pass while the row is read more often than half its extension', () => {
    const gaps = fc.array(fc.integer({ min: 1, max: HOUR / 2 - 1 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(gaps, (seconds) => {
        let current = row({ tier: 'short', expires_at: at(HOUR), access_count: 0 });
        let nowMs = NOW_MS;
        let lives = 0;
        for (const gap of seconds) {
          nowMs += gap * 1000;
          const now = new Date(nowMs).toISOString();
          assert.ok(current.expires_at! > now, 'the row expired though it was in use');
          const { mutations } = taken(decideOver(touching(), [current], { nowMs }));
          const life = lifeOf(mutations);
          if (life === undefined) continue;
          lives += 1;
          assert.ok(life.image.expires_at! > current.expires_at!, 'only later');
          current = { ...current, ...life.image, life_at: now };
        }
        const hours = (nowMs - NOW_MS) / (HOUR * 1000);
        // Each extension leaves an hour, and the next comes when half of it has gone at the earliest.
        assert.ok(lives <= 2 * hours + 1, `${lives} operations in ${hours} hours`);
      }),
    );
  });
});

describe('the promotion of a touched row', () => {
  it('comes with the fifth access of a mid row', () => {
    assert.equal(touched({ access_count: 3, expires_at: at(90 * DAY) }).life, undefined);
    const before = row({ access_count: 4, expires_at: at(30 * DAY), life_at: at(-60), version: 3 });
    const { value, life, access } = touched(before);
    assert.deepEqual(value, { touched: 1, promoted: ['m1'], used: 0 });
    assert.deepEqual(life, lifeWrite(before, { tier: 'long', expires_at: null }));
    assert.equal(access.accessCount, 5);
  });

  it('comes with five coalesced touches, and late for a row that was read before', () => {
    assert.equal(touched({ access_count: 0 }, 5).life?.image.tier, 'long');
    assert.equal(touched({ access_count: 700 }).life?.image.tier, 'long');
  });

  it('never comes for a short row', () => {
    const { value, life } = touched({ tier: 'short', access_count: 50, expires_at: at(60) });
    assert.deepEqual(value.promoted, []);
    assert.equal(life?.image.tier, 'short');
  });

  it('comes once', () => {
    assert.equal(touched({ tier: 'long', access_count: 50 }).life, undefined);
  });
});
