import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isMutation, type Mutation } from '../../../protocol/decide/mutations.js';
import type { DatabaseOwner } from '../../../protocol/decide/rows.js';
import { putDatabaseOwner } from '../../../protocol/maintenance/mutations.js';
import fc from '../../support/properties.js';
import { decideOver, NOW_MS, onlyLocal, taken } from '../decide/answerer.js';

type Role = DatabaseOwner['role'];
const LEASE_MS = 10_000;

const claim = (holder: string, role: Role, owner: DatabaseOwner | null, nowMs = NOW_MS) =>
  decideOver({ kind: 'claim-ownership', holder, role, leaseMs: LEASE_MS }, [], { owner, nowMs });
const held = (holder: string, role: Role, leftMs: number, fencing = 5): DatabaseOwner => ({
  holder,
  role,
  fencing,
  expiresAtMs: NOW_MS + leftMs,
});

/** What a claim writes when it succeeds. */
const owner = (holder: string, role: Role, fencing: number) => ({
  mutation: 'put-database-owner',
  owner: { holder, role, fencing, expiresAtMs: NOW_MS + LEASE_MS },
});

describe('a claim', () => {
  it('takes a database that nobody owns, with fencing number 1', () => {
    const outcome = claim('a', 'mcp', null);
    assert.deepEqual(taken(outcome).value, { owned: true, fencing: 1, holder: 'a' });
    assert.deepEqual(onlyLocal(outcome, putDatabaseOwner), owner('a', 'mcp', 1));
  });

  it('renews its own lease under the same number, run out or not', () => {
    for (const leftMs of [1, 0, -60_000]) {
      const outcome = claim('a', 'mcp', held('a', 'mcp', leftMs));
      assert.deepEqual(taken(outcome).value, { owned: true, fencing: 5, holder: 'a' });
      assert.deepEqual(onlyLocal(outcome, putDatabaseOwner), owner('a', 'mcp', 5));
    }
  });

  it('takes a lease that was made before the clock was set back', () => {
    const outcome = claim('b', 'mcp', held('a', 'daemon', 86_400_000));
    assert.deepEqual(taken(outcome).value, { owned: true, fencing: 6, holder: 'b' });
  });

  it('leaves a living lease alone, of an equal or a higher role', () => {
    const cases: readonly (readonly [Role, Role])[] = [
      ['mcp', 'mcp'],
      ['mcp', 'daemon'],
      ['daemon', 'daemon'],
    ];
    for (const [role, ownerRole] of cases) {
      const { value, mutations } = taken(claim('b', role, held('a', ownerRole, 1)));
      assert.deepEqual(value, { owned: false, fencing: 5, holder: 'a' });
      assert.deepEqual(mutations, []);
    }
  });

  it('of a daemon takes the database from an MCP process at once', () => {
    const outcome = claim('b', 'daemon', held('a', 'mcp', LEASE_MS));
    assert.deepEqual(taken(outcome).value, { owned: true, fencing: 6, holder: 'b' });
    assert.deepEqual(onlyLocal(outcome, putDatabaseOwner), owner('b', 'daemon', 6));
  });

  it('takes over the moment a lease has run out, under a higher number', () => {
    for (const role of ['mcp', 'daemon'] as const) {
      assert.deepEqual(taken(claim('b', role, held('a', 'daemon', 0))).value, {
        owned: true,
        fencing: 6,
        holder: 'b',
      });
    }
  });
});

describe('a release', () => {
  const release = (holder: string, current: DatabaseOwner | null) =>
    decideOver({ kind: 'release-ownership', holder }, [], { owner: current });

  it('ends the own lease and keeps its number', () => {
    const outcome = release('a', held('a', 'daemon', 60_000));
    assert.deepEqual(taken(outcome).value, { released: true });
    const ended = onlyLocal(outcome, putDatabaseOwner).owner;
    assert.deepEqual(ended, { holder: 'a', role: 'daemon', fencing: 5, expiresAtMs: 0 });
    assert.equal(taken(claim('b', 'mcp', ended)).value.fencing, 6);
  });

  it('of another’s lease, or of none, changes nothing', () => {
    for (const current of [null, held('b', 'mcp', 60_000)]) {
      assert.deepEqual(taken(release('a', current)), { value: { released: false }, mutations: [] });
    }
  });
});

it('two processes never own a database at the same instant, and the number tells the holders apart', () => {
  const step = fc.record({
    holder: fc.constantFrom('a', 'b', 'c'),
    release: fc.boolean(),
    waitMs: fc.integer({ min: 0, max: 2 * LEASE_MS }),
  });
  const roles: Record<string, Role> = { a: 'mcp', b: 'mcp', c: 'daemon' };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let current: DatabaseOwner | null = null;
      let nowMs = NOW_MS;
      let highest = 0;
      const holderOf = new Map<number, string>();
      for (const { holder, release, waitMs } of steps) {
        nowMs += waitMs;
        const before: DatabaseOwner | null = current;
        const mutations: readonly Mutation[] = release
          ? taken(decideOver({ kind: 'release-ownership', holder }, [], { owner: before, nowMs })).mutations
          : taken(claim(holder, roles[holder]!, before, nowMs)).mutations;
        for (const mutation of mutations) {
          assert.equal(mutation.mutation, 'put-database-owner');
          if (isMutation(mutation, putDatabaseOwner)) current = mutation.owner;
        }
        if (current === null) continue;
        assert.ok(current.fencing >= highest, 'the number never falls');
        highest = current.fencing;
        assert.equal(holderOf.get(highest) ?? current.holder, current.holder, 'one number, one holder');
        holderOf.set(highest, current.holder);
      }
    }),
  );
});
