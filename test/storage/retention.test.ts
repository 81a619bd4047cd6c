import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scrub } from '../../actors/maintenance/scrub.js';
import { ReplicationProgress } from '../../actors/mesh/replication-progress.js';
import { hadByAll, retentionRound } from '../../actors/mesh/retention-duty.js';
import { aMemory, OPERATOR, storing, updating } from '../support/memories.js';
import { type Replica, replica, verified } from '../support/replicas.js';

const START_MS = 1_772_000_000_000;
const DAY_MS = 86_400_000;
const KEPT_MS = 90 * DAY_MS;

const rewriting = (id: string, content: string) => updating(id, { content });

type Records = Parameters<typeof hadByAll>[0];
const round = (one: Replica, records: Records = []) =>
  retentionRound({
    store: one.store,
    clock: { nowMs: () => one.nowMs, monotonicMs: () => one.nowMs },
    records: () => records as never,
    keptMs: KEPT_MS,
    stopping: () => false,
  });
const payloads = ({ db }: Replica) =>
  db
    .prepare(
      "SELECT origin || ':' || origin_seq FROM operations WHERE payload IS NOT NULL ORDER BY commit_sequence",
    )
    .pluck()
    .all();
const peer = (has: Record<string, number>, answered = true, own: string | null = null, proven = 0) => {
  const replication = new ReplicationProgress();
  if (own !== null) replication.follow(own, proven);
  replication.prove(proven);
  return { has, replication, lastAnswerAtMs: answered ? 1 : null };
};

/** A memory that was edited twice and one that was deleted, all at the start. */
async function furnished() {
  const one = replica('a', START_MS);
  const [kept, gone] = [aMemory({ title: 'kept' }), aMemory({ title: 'gone' })];
  await one.run(storing(kept));
  await one.run(storing(gone));
  await one.run(rewriting(kept.id, 'once'));
  await one.run({ kind: 'delete-memory', id: gone.id, viewer: OPERATOR, archive: true });
  return { one, kept: kept.id, gone: gone.id };
}
const of = (...seqs: number[]) => seqs.map((seq) => `peer-a/epocha:${seq}`);

describe('retention', () => {
  it('lets superseded payloads go when they are old, and not the ones that make rows and tombstones', async () => {
    const { one } = await furnished();
    one.nowMs += KEPT_MS;
    await round(one);
    assert.deepEqual(payloads(one), of(1, 2, 3, 4));
    one.nowMs += DAY_MS;
    const before = await one.state();
    await round(one);
    assert.deepEqual(payloads(one), of(3, 4));
    assert.deepEqual([await one.state(), one.audit()], [before, []]);
  });

  it('counts from the version that superseded a payload, so that a recent edit can be undone', async () => {
    const { one, kept } = await furnished();
    one.nowMs += 2 * KEPT_MS;
    await one.run(rewriting(kept, 'twice'));
    await round(one);
    assert.deepEqual(payloads(one), of(3, 4, 5));
    const undone = await one.store.execute({
      kind: 'undo-edit',
      id: kept,
      dryRun: false,
      viewer: OPERATOR,
      archive: true,
    });
    assert.ok(undone.ok, JSON.stringify(undone));
    one.nowMs += 2 * KEPT_MS;
    await round(one);
    assert.deepEqual(payloads(one), of(4, 6));
    assert.deepEqual(one.audit(), []);
  });

  it('waits for every member', async () => {
    const { one } = await furnished();
    one.nowMs += 2 * KEPT_MS;
    const own = 'peer-a/epocha';
    await round(one, [peer({ [own]: 4 }, false)]);
    await round(one, [peer({ [own]: 4 }, true, own, 4), peer({}, true, own, 0)]);
    assert.deepEqual(payloads(one), of(1, 2, 3, 4));
    await round(one, [peer({ [own]: 4 }, true, own, 4), peer({ [own]: 1 }, true, own, 1)]);
    assert.deepEqual(payloads(one), of(2, 3, 4));
    await round(one, [peer({ [own]: 4 }, true, own, 4)]);
    assert.deepEqual(payloads(one), of(3, 4));
    assert.equal(hadByAll([]), null);
  });

  it('keeps concurrent versions and those that lost', async () => {
    const { one, kept } = await furnished();
    const other = replica('b', START_MS);
    await other.apply(await one.read());
    await one.run(rewriting(kept, 'here'));
    await other.run(rewriting(kept, 'there'));
    await one.apply(await other.read());
    assert.equal(one.db.prepare('SELECT count(*) FROM conflicts').pluck().get(), 1);
    one.nowMs += 2 * KEPT_MS;
    await round(one);
    assert.deepEqual(payloads(one), [...of(3, 4, 5).slice(1), 'peer-b/epochb:1']);
    await one.run(rewriting(kept, 'both'));
    one.nowMs += 2 * KEPT_MS;
    await round(one);
    const lost = one.db.prepare("SELECT origin || ':' || origin_seq FROM conflicts").pluck().get() as string;
    assert.deepEqual(payloads(one), [...of(4), lost, ...of(6)].sort());
    const conflicts = await one.store.query({ kind: 'list-conflicts', limit: 10 });
    assert.ok(conflicts.ok && conflicts.value[0]!.lost !== null);
    assert.deepEqual(one.audit(), []);
  });

  it('leaves a log from which a new node comes to the same rows, and in which a scrub misses nothing', async () => {
    const { one, kept } = await furnished();
    await one.run(rewriting(kept, 'twice'));
    one.nowMs += 2 * KEPT_MS;
    await round(one);
    const fresh = replica('c', one.nowMs);
    await fresh.apply(await one.read());
    assert.deepEqual(await fresh.state(), await one.state());
    for (const each of [one, fresh]) {
      assert.deepEqual(each.audit(), []);
      const done = await scrub({
        store: each.store,
        verifier: { ready: () => Promise.resolve(), singles: (operations) => operations.map(verified) },
        askBack: () => Promise.resolve([]),
        dryRun: false,
      });
      assert.ok(done.ok);
      const { repaired, lost_count, damaged_operations } = done.value;
      assert.deepEqual([repaired, lost_count, damaged_operations], [[], 0, 0]);
    }
  });
});
