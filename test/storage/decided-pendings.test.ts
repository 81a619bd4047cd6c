import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dropDecided } from '../../actors/maintenance/approvals.js';
import { formatHlc } from '../../protocol/base/hlc.js';
import { PENDING_KEPT_SECONDS } from '../../protocol/base/limits.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { homeId } from '../../protocol/kinds/home.js';
import type { RequestApproval } from '../../protocol/policies/request-approval.js';
import { aMemory, deleting, OPERATOR, storing } from '../support/memories.js';
import { type Replica, replica } from '../support/replicas.js';

const START_MS = Date.parse('2026-01-02T00:00:00.000Z');
const HOUR_MS = 3_600_000;
const KEPT_MS = PENDING_KEPT_SECONDS * 1000;
/** Ends of peer ids. */
const [HOME, OTHER] = ['a'.repeat(16), 'b'.repeat(16)] as const;
const VOTERS = ['ai:b', 'ai:c'] as const;
const ASKED = aMemory({
  id: 'asked',
  title: 'asked',
  namespace: 'team',
  metadata: { agent_id: 'ai:a' },
  created_at: instantFromMs(START_MS),
});

/** The command that puts the store of one memory aside. */
const requesting = (pendingId = 'p', votes = 1): RequestApproval => ({
  kind: 'request-approval',
  ...{ pendingId, command: storing(ASKED), action: 'store', namespace: 'team', memoryId: ASKED.id },
  approver: { form: 'consensus', votes },
  requestedBy: 'ai:a',
});

const voting = (agentId: string, more: { readonly recordOnly?: true } = {}, pendingId = 'p') =>
  ({ kind: 'vote-pending', pendingId, agentId, decision: 'approve', remember: 'once', ...more }) as const;

/** Brings to one replica what the other one has more, and answers how many operations. */
async function bring(from: Replica, to: Replica): Promise<number> {
  const have = Object.fromEntries(
    to.db.prepare('SELECT origin, max(origin_seq) FROM operations GROUP BY origin').raw().all() as [
      string,
      number,
    ][],
  );
  const operations = await from.read(have);
  if (operations.length > 0) await to.apply(operations);
  return operations.length;
}

async function together(...replicas: readonly [Replica, Replica]): Promise<void> {
  const [one, two] = replicas;
  await bring(one, two);
  await bring(two, one);
  assert.deepEqual(await one.state(), await two.state());
  for (const each of replicas) assert.deepEqual(each.audit(), []);
}

const clockOf = (one: Replica) => ({ nowMs: () => one.nowMs });
const drop = (one: Replica) => dropDecided(one.store, clockOf(one));
async function spentOn(one: Replica): Promise<readonly string[]> {
  const before = instantFromMs(one.nowMs - KEPT_MS);
  const found = await one.store.query({ kind: 'spent-pendings', before, limit: 10 });
  assert.ok(found.ok);
  return found.value.pendings;
}
const codeOf = async (one: Replica, command: Parameters<Replica['run']>[0]) => {
  const result = await one.store.execute(command);
  return result.ok ? 'ok' : result.error.code;
};
const rowsOf = ({ db }: Replica, kind: string) =>
  db.prepare('SELECT id FROM records WHERE kind = ? ORDER BY id').pluck().all(kind);
const statusOf = ({ db }: Replica) =>
  db.prepare(`SELECT payload ->> '$.status' FROM records WHERE kind = 'pending'`).pluck().all();
const isStored = ({ db }: Replica) =>
  db.prepare('SELECT 1 FROM memories WHERE id = ?').get(ASKED.id) !== undefined;

/** Two replicas that know the voters and one action, whose home is the first. */
async function governed(votes = 1): Promise<readonly [Replica, Replica]> {
  const [home, other] = [replica(HOME, START_MS), replica(OTHER, START_MS)];
  for (const agentId of VOTERS) {
    const memory = aMemory({ id: agentId, namespace: '_agents', title: `agent:${agentId}` });
    await home.run({
      kind: 'register-agent',
      memory,
      spareId: `${agentId}-2`,
      viewer: OPERATOR,
      admin: true,
    });
  }
  await home.run(requesting('p', votes));
  await bring(home, other);
  return [home, other];
}

function later(ms: number, ...replicas: readonly Replica[]): void {
  for (const each of replicas) each.nowMs += ms;
}

describe('an action that was decided', () => {
  it('stays for a time, then its home removes it with its votes, everywhere', async () => {
    const [home, other] = await governed(2);
    for (const voter of VOTERS) await home.run(voting(voter));
    assert.ok(isStored(home));
    later(KEPT_MS - HOUR_MS, home, other);
    assert.equal(await drop(home), false);
    await together(home, other);
    assert.deepEqual(statusOf(other), ['approved']);
    later(2 * HOUR_MS, home, other);
    const id = homeId(`peer-${HOME}`, 'p');
    // The actions of other homes take no place in a batch.
    assert.deepEqual([await spentOn(home), await spentOn(other)], [[id], []]);
    assert.equal(await codeOf(other, { kind: 'drop-decided', pendings: [id], votes: [] }), 'ok');
    assert.deepEqual(statusOf(other), ['approved']);
    assert.equal(await drop(home), true);
    assert.equal(await drop(home), false);
    await together(home, other);
    for (const each of [home, other]) {
      assert.deepEqual([rowsOf(each, 'pending'), rowsOf(each, 'vote')], [[], []]);
      assert.ok(isStored(each), 'what it executed stays');
    }
  });

  it('is not executed again by a vote that comes late from a node that was away', async () => {
    const [home, other] = await governed();
    await home.run(voting('ai:b'));
    await other.run(voting('ai:c', { recordOnly: true }));
    await home.run(deleting(ASKED.id));
    later(KEPT_MS + HOUR_MS, home, other);
    assert.equal(await drop(home), true);
    // The other node still knows the action as one that waits.
    assert.deepEqual(statusOf(other), ['pending']);
    assert.equal(await codeOf(other, voting('ai:b', { recordOnly: true })), 'PENDING_ACTION_STATE_INVALID');
    await together(home, other);
    assert.deepEqual([statusOf(home), rowsOf(home, 'vote')], [[], ['p|ai:c']]);
    assert.equal(await codeOf(home, { kind: 'settle-pending', pendingId: 'p' }), 'PENDING_ACTION_NOT_FOUND');
    assert.equal(await codeOf(home, voting('ai:b')), 'PENDING_ACTION_NOT_FOUND');
    assert.ok(!isStored(home) && !isStored(other));
    assert.equal(await drop(other), true, 'any node removes a vote on no action');
    await together(home, other);
    assert.deepEqual([rowsOf(home, 'vote'), rowsOf(other, 'vote')], [[], []]);
  });

  it('does not come back when its request is sent again', async () => {
    const [home] = await governed();
    await home.run(voting('ai:b'));
    await home.run(deleting(ASKED.id));
    assert.equal(await codeOf(home, requesting()), 'ok');
    assert.deepEqual(statusOf(home), ['approved']);
    later(KEPT_MS + HOUR_MS, home);
    assert.equal(await drop(home), true);
    assert.equal(await codeOf(home, requesting()), 'PENDING_ACTION_STATE_INVALID');
    assert.deepEqual(statusOf(home), []);
    assert.equal(await codeOf(home, requesting('q')), 'ok');
    assert.deepEqual(statusOf(home), ['pending']);
  });

  it('is not executed by a node that adopts its home and knows it only as one that waits', async () => {
    const [home, other] = await governed();
    await home.run(voting('ai:b'));
    await home.run(deleting(ASKED.id));
    later(KEPT_MS + HOUR_MS, home, other);
    assert.equal(await drop(home), true);
    await other.run({ kind: 'adopt-peer', peerId: `peer-${HOME}`, by: 'ai:operator' });
    assert.equal(await codeOf(other, voting('ai:b')), 'PENDING_ACTION_STATE_INVALID');
    await other.run({ kind: 'settle-pending', pendingId: 'p' });
    assert.deepEqual(statusOf(other), ['expired']);
    await together(home, other);
    assert.ok(!isStored(home) && !isStored(other));
    later(KEPT_MS + HOUR_MS, home, other);
    assert.equal((await spentOn(home)).length + (await spentOn(other)).length, 1);
    assert.equal(await drop(home), false, 'its home is the other node now');
    assert.equal(await drop(other), true);
    await together(home, other);
    assert.deepEqual([rowsOf(home, 'pending'), rowsOf(other, 'pending')], [[], []]);
  });

  it('waits as long as it is not decided', async () => {
    const [home] = await governed();
    later(KEPT_MS + HOUR_MS, home);
    assert.equal(await drop(home), false);
    await home.run({ kind: 'settle-pending', pendingId: 'p' });
    assert.deepEqual(statusOf(home), ['expired']);
    assert.equal(await drop(home), false, 'it has expired just now');
    later(KEPT_MS, home);
    assert.equal(await drop(home), true);
  });

  it('leaves the log with its payloads', async () => {
    const [home] = await governed();
    await home.run(voting('ai:b'));
    later(KEPT_MS + HOUR_MS, home);
    await drop(home);
    later(HOUR_MS, home);
    const asked = { before: formatHlc(home.nowMs, 0), everyoneHas: null, after: 0, limit: 1000 };
    const found = await home.store.query({ kind: 'superseded-payloads', ...asked });
    assert.ok(found.ok);
    const superseded = new Set(found.value.places.map(({ seq }) => seq));
    const versions = home.db
      .prepare(`SELECT origin_seq FROM operations WHERE kind = 'pending.put'`)
      .pluck()
      .all() as number[];
    assert.equal(versions.length, 2);
    assert.ok(versions.every((seq) => superseded.has(seq)));
  });
});
