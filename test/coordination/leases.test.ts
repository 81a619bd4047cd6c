import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LeaseTerms } from '../../actors/coordination/leases.js';
import { LEASE_ADOPTION_ROUND_MS, LEASE_PAGE_ROWS } from '../../protocol/base/limits.js';
import { tokenAfter } from '../../protocol/coordination/lease-kind.js';
import type { Replica } from '../support/replicas.js';
import { replica } from '../support/replicas.js';
import {
  acquiring,
  actionOf,
  adding,
  as,
  creating,
  done,
  HOME,
  leaseOf,
  moving,
  OTHER,
  refusedWith,
  releasing,
  renewing,
  START_MS,
  together,
} from './coordination.js';

const home = () => replica(HOME, START_MS);

async function made(one: Replica, fields: Parameters<typeof creating>[0] = {}): Promise<string> {
  return (await done(one, creating(fields))).action.action_id;
}

/** The process that owns a database, with a monotonic clock of its own. */
class Owner {
  monotonicMs = 0;
  private readonly terms: LeaseTerms;

  constructor(private readonly one: Replica) {
    this.terms = new LeaseTerms(one.store, {
      nowMs: () => this.one.nowMs,
      monotonicMs: () => this.monotonicMs,
    });
  }

  /** Lets time pass, in rounds of a second. */
  async pass(seconds: number): Promise<void> {
    await this.terms.round();
    for (let passed = 0; passed < seconds; passed += 1) {
      this.monotonicMs += 1000;
      await this.terms.round();
    }
  }
}

describe('a lease', () => {
  it('is of one holder at a time, under a token that only grows', async () => {
    const one = home();
    const id = await made(one);
    const first = await done(one, acquiring(id, 'ai:a'));
    assert.deepEqual([first.lease.holder, first.term.renewals], ['ai:a', 0]);
    const error = await refusedWith(one, acquiring(id, 'ai:b'), 'LEASE_HELD');
    const expires_at = START_MS / 1000 + 60;
    assert.deepEqual(error.details, { action_id: id, holder: 'ai:a', expires_at });
    const again = await done(one, acquiring(id, 'ai:a'));
    assert.deepEqual(await done(one, releasing(id, 'ai:b')), { released: false });
    assert.deepEqual(await done(one, releasing(id, 'ai:a', first.lease.token)), { released: false });
    assert.deepEqual(await done(one, releasing(id, 'ai:a', again.lease.token)), { released: true });
    assert.deepEqual(await done(one, releasing(id, 'ai:a')), { released: false });
    const next = await done(one, acquiring(id, 'ai:b'));
    const tokens = [first, again, next].map(({ lease }) => lease.token);
    assert.deepEqual(
      tokens,
      [0, 1, 2].map((more) => START_MS / 1000 + 1 + more),
    );
  });

  it('lets only its holder move the action, and a token only while it is the last one', async () => {
    const one = home();
    const id = await made(one);
    const { lease: old } = await done(one, acquiring(id, 'ai:a'));
    const { lease } = await done(one, acquiring(id, 'ai:a'));
    const error = await refusedWith(one, await moving(one, id, 'claimed', 'ai:b'), 'NOT_LEASE_HOLDER');
    assert.deepEqual(error.details, { action_id: id, holder: 'ai:a' });
    const move = await moving(one, id, 'claimed', 'ai:a');
    await refusedWith(one, { ...move, token: old.token }, 'LEASE_LOST');
    await refusedWith(one, { ...move, token: lease.token + 1 }, 'LEASE_LOST');
    await done(one, { ...move, token: lease.token });
    await done(one, await moving(one, id, 'in_progress', 'ai:a'));
    await done(one, releasing(id, 'ai:a'));
    const late = await moving(one, id, 'done', 'ai:a', { token: lease.token });
    await refusedWith(one, late, 'LEASE_LOST');
    await refusedWith(one, renewing(id, 'ai:a'), 'LEASE_LOST');
  });

  it('ends when its action is finished or given back', async () => {
    const one = home();
    for (const way of [['claimed', 'pending'], ['claimed', 'in_progress', 'done'], ['abandoned']] as const) {
      const id = await made(one);
      await done(one, acquiring(id, 'ai:maker'));
      for (const to of way) await done(one, await moving(one, id, to, 'ai:maker'));
      assert.equal((await leaseOf(one, id)).holder, null, way.join(' '));
      assert.equal(one.db.prepare('SELECT count(*) FROM lease_term').pluck().get(), 0);
    }
  });

  it('is given up by owner, creator and operator whoever holds it', async () => {
    const one = home();
    for (const by of ['ai:maker', 'ai:owner', 'ai:operator']) {
      const id = await made(one, { agentId: 'ai:owner' });
      await done(one, { ...acquiring(id, 'ai:holder'), operator: true });
      const fields = { operator: by === 'ai:operator' };
      await refusedWith(one, await moving(one, id, 'abandoned', 'ai:stranger'), 'NOT_LEASE_HOLDER');
      await done(one, await moving(one, id, 'abandoned', by, fields));
    }
  });

  it('is for who may work on the action', async () => {
    const one = home();
    const owned = await made(one, { agentId: 'ai:owner' });
    await refusedWith(one, acquiring(owned, 'ai:a'), 'FORBIDDEN');
    await done(one, acquiring(owned, 'ai:owner'));
    const claimed = await made(one);
    await done(one, await moving(one, claimed, 'claimed', 'ai:a'));
    await refusedWith(one, acquiring(claimed, 'ai:b'), 'FORBIDDEN');
    await done(one, await moving(one, claimed, 'in_progress', 'ai:a'));
    await refusedWith(one, acquiring(claimed, 'ai:b'), 'FORBIDDEN');
    await done(one, acquiring(claimed, 'ai:a'));
    await done(one, await moving(one, claimed, 'failed', 'ai:a'));
    await refusedWith(one, acquiring(claimed, 'ai:a'), 'CONFLICT');
    await refusedWith(one, acquiring('nothing'), 'NOT_FOUND');
  });

  it('is given by the home of its action alone', async () => {
    const [one, two] = [home(), replica(OTHER, START_MS)];
    const id = await made(one);
    await together(one, two);
    await refusedWith(two, acquiring(id), 'NOT_HOME');
    await done(one, acquiring(id));
    await together(one, two);
    await refusedWith(two, renewing(id), 'NOT_HOME');
    await refusedWith(two, releasing(id), 'NOT_HOME');
  });

  it('has tokens of its home, which come after all of the home before', () => {
    assert.equal(tokenAfter(0, 0, 100), 101);
    assert.equal(tokenAfter(500, 0, 100), 501);
    assert.equal(tokenAfter(500, 1, 100), 2 ** 32 + 101);
    assert.equal(tokenAfter(2 ** 32 + 500, 1, 100), 2 ** 32 + 501);
    const nonsense = tokenAfter(0, 0, Number.MAX_SAFE_INTEGER);
    assert.ok(nonsense + 1_000_000 < tokenAfter(nonsense, 1, 0));
    assert.equal(tokenAfter(0, 0, -5), 1);
  });
});

describe('the term of a lease', () => {
  it('ends on the monotonic clock, and the claimed action waits for another agent', async () => {
    const one = home();
    const owner = new Owner(one);
    const id = await made(one);
    await done(one, acquiring(id, 'ai:a', 10));
    await done(one, await moving(one, id, 'claimed', 'ai:a'));
    await owner.pass(9);
    assert.equal((await leaseOf(one, id)).holder, 'ai:a');
    await owner.pass(1);
    assert.equal((await leaseOf(one, id)).holder, null);
    const { state, claimed_by } = await actionOf(one, id);
    assert.deepEqual([state, claimed_by], ['pending', null]);
    await refusedWith(one, renewing(id, 'ai:a'), 'LEASE_LOST');
    await done(one, acquiring(id, 'ai:b'));
    assert.deepEqual(one.audit(), []);
  });

  it('leaves an action in progress to whoever takes the lease over', async () => {
    const one = home();
    const owner = new Owner(one);
    const id = await made(one);
    const { lease } = await done(one, acquiring(id, 'ai:a', 5));
    for (const to of ['claimed', 'in_progress'] as const) await done(one, await moving(one, id, to, 'ai:a'));
    await owner.pass(5);
    assert.equal((await actionOf(one, id)).state, 'in_progress');
    await refusedWith(one, await moving(one, id, 'done', 'ai:b'), 'FORBIDDEN');
    await done(one, acquiring(id, 'ai:b'));
    await refusedWith(one, await moving(one, id, 'done', 'ai:a', { token: lease.token }), 'LEASE_LOST');
    await done(one, await moving(one, id, 'done', 'ai:b'));
  });

  it('begins anew with each renewal, and with each new token', async () => {
    const one = home();
    const owner = new Owner(one);
    const id = await made(one);
    await done(one, acquiring(id, 'ai:a', 10));
    for (let turn = 0; turn < 3; turn += 1) {
      await owner.pass(8);
      await done(one, renewing(id, 'ai:a', undefined, 10));
    }
    await owner.pass(8);
    await done(one, acquiring(id, 'ai:a', 10));
    await owner.pass(9);
    assert.equal((await leaseOf(one, id)).holder, 'ai:a');
    await owner.pass(1);
    assert.equal((await leaseOf(one, id)).holder, null);
  });

  it('does not end because the wall clock jumps', async () => {
    const one = home();
    const owner = new Owner(one);
    const id = await made(one);
    await done(one, acquiring(id, 'ai:a', 10));
    await owner.pass(1);
    one.nowMs += 365 * 86_400_000;
    await owner.pass(1);
    await refusedWith(one, acquiring(id, 'ai:b'), 'LEASE_HELD');
    one.nowMs -= 2 * 365 * 86_400_000;
    await owner.pass(7);
    await refusedWith(one, acquiring(id, 'ai:b'), 'LEASE_HELD');
    await owner.pass(1);
    const { lease: next } = await done(one, acquiring(id, 'ai:b'));
    assert.ok(next.token > START_MS / 1000 + 1, 'the token grows while the clock goes back');
  });

  it('begins anew in full in the process that owns the database next', async () => {
    const one = home();
    const id = await made(one);
    await done(one, acquiring(id, 'ai:a', 10));
    await new Owner(one).pass(9);
    const next = new Owner(one);
    await next.pass(9);
    assert.equal((await leaseOf(one, id)).holder, 'ai:a');
    await next.pass(1);
    assert.equal((await leaseOf(one, id)).holder, null);
  });

  it('goes on where a renewal comes before the end is decided', async () => {
    const one = home();
    const id = await made(one);
    const { lease, term } = await done(one, acquiring(id, 'ai:a', 10));
    await done(one, renewing(id, 'ai:a'));
    const leaseId = term.lease_id;
    const end = { kind: 'end-lease', leaseId, token: lease.token, renewals: 0 } as const;
    assert.deepEqual(await done(one, end), { ended: false });
    assert.deepEqual(await done(one, { ...end, token: lease.token - 1, renewals: 1 }), { ended: false });
    assert.deepEqual(await done(one, { ...end, renewals: 1 }), { ended: true });
  });

  it('is counted by the home alone, and ended at once by the node that adopts the home', async () => {
    const [one, two] = [home(), replica(OTHER, START_MS)];
    const id = await made(one);
    const { lease } = await done(one, acquiring(id, 'ai:a', 10));
    await done(one, await moving(one, id, 'claimed', 'ai:a'));
    await together(one, two);
    const owner = new Owner(two);
    await owner.pass(30);
    assert.equal((await leaseOf(two, id)).holder, 'ai:a');
    await two.run({ kind: 'adopt-peer', peerId: `peer-${HOME}`, by: 'ai:ops' });
    // Not live under the new home, although nobody has ended it yet.
    const move = await moving(two, id, 'in_progress', 'ai:a', { token: lease.token });
    await refusedWith(two, move, 'LEASE_LOST');
    await owner.pass(LEASE_ADOPTION_ROUND_MS / 1000);
    assert.deepEqual([(await leaseOf(two, id)).holder, (await actionOf(two, id)).state], [null, 'pending']);
    const { lease: next } = await done(two, acquiring(id, 'ai:b'));
    assert.ok(next.token > lease.token + 2 ** 31);
    await together(one, two);
    assert.equal((await leaseOf(one, id)).holder, 'ai:b');
    await refusedWith(one, acquiring(id, 'ai:a'), 'NOT_HOME');
  });

  it('begins for a lease that came back without one', async () => {
    const one = home();
    const id = await made(one);
    await done(one, acquiring(id, 'ai:a', 10));
    one.db.exec('DELETE FROM lease_term');
    const owner = new Owner(one);
    await owner.pass(9);
    assert.equal((await leaseOf(one, id)).holder, 'ai:a');
    await owner.pass(LEASE_ADOPTION_ROUND_MS / 1000);
    assert.equal((await leaseOf(one, id)).holder, null);
  });
});

describe('many leases', () => {
  it('all end, also those beyond one page', async () => {
    const one = home();
    const owner = new Owner(one);
    const count = LEASE_PAGE_ROWS + 50;
    for (let at = 0; at < count; at += 1) await done(one, acquiring(await made(one), 'ai:a', 1));
    const held = one.db.prepare("SELECT count(*) FROM records WHERE kind = 'lease' AND owner_id IS NOT NULL");
    assert.equal(held.pluck().get(), count);
    await owner.pass(1);
    assert.equal(held.pluck().get(), 0);
    assert.equal(one.db.prepare('SELECT count(*) FROM lease_term').pluck().get(), 0);
  });
});

describe('finished actions', () => {
  it('go with their edges and leases, except those that still stop others', async () => {
    const [one, two] = [home(), replica(OTHER, START_MS)];
    const [finished, waiting, failed, stopped] = [
      await made(one),
      await made(one),
      await made(one),
      await made(one),
    ];
    await done(one, adding(waiting, finished));
    await done(one, adding(stopped, failed));
    await done(one, acquiring(finished, 'ai:worker'));
    for (const to of ['claimed', 'in_progress', 'done'] as const)
      await done(one, await moving(one, finished, to));
    for (const to of ['claimed', 'in_progress', 'failed'] as const)
      await done(one, await moving(one, failed, to));
    await together(one, two);
    const ids = [finished, waiting, failed, stopped];
    const sweep = (before: number) =>
      ({ kind: 'sweep-actions', ids, before: new Date(before).toISOString() }) as const;
    assert.deepEqual(await done(one, sweep(START_MS - 1)), { removed: 0 });
    assert.deepEqual(await done(two, sweep(START_MS)), { removed: 0 });
    assert.deepEqual(await done(one, sweep(START_MS)), { removed: 1 });
    await done(one, await moving(one, stopped, 'abandoned', 'ai:maker'));
    assert.deepEqual(await done(one, sweep(START_MS)), { removed: 2 });
    await together(one, two);
    const left = one.db.prepare('SELECT kind, id FROM records').raw().all();
    assert.deepEqual(left, [['action', `peer-${HOME}/${waiting}`]]);
    await done(one, await moving(one, waiting, 'claimed', 'ai:worker', as('ai:worker')));
  });
});
