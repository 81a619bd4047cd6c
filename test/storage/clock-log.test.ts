import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandom } from '../../node/seams.js';
import { aMemory, deleting, linking, OPERATOR, storing, updating } from '../support/memories.js';
import fc from '../support/properties.js';
import { type Replica, replica } from '../support/replicas.js';

const START_MS = 1_772_000_000_000;
const DAYS_MS = 10 * 86_400_000;

const exchange = async (from: Replica, to: Replica) => await to.apply(await from.read());

async function settled(replicas: readonly Replica[]): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    for (const from of replicas) for (const to of replicas) if (from !== to) await exchange(from, to);
  }
}

async function assertEqual(replicas: readonly Replica[]): Promise<void> {
  for (const one of replicas) assert.deepEqual(one.audit(), []);
  const [first, ...others] = replicas;
  for (const other of others) assert.deepEqual(await other.state(), await first!.state());
}

/** What users read, without the stamps. */
const contents = ({ db }: Replica) => [
  db
    .prepare(
      `SELECT id, title, namespace, content, tier, expires_at, version, updated_at, created_at, metadata,
         write_signature, conflict_of FROM memories ORDER BY id`,
    )
    .all(),
  db
    .prepare('SELECT source_id, target_id, relation, created_at, signature FROM memory_links ORDER BY 1, 2')
    .all(),
  db.prepare('SELECT kind, id, namespace, payload FROM records ORDER BY 1, 2').all(),
  db.prepare('SELECT kind, id, namespace, reason FROM tombstones ORDER BY 1, 2').all(),
  // A copy of a memory that lives again goes with any repair of its row.
  db
    .prepare(
      `SELECT id, title, content, version, archive_reason FROM archived_memories
       WHERE id NOT IN (SELECT id FROM memories) ORDER BY 1`,
    )
    .all(),
];

const freshEpoch = () => systemRandom.uuid().replaceAll('-', '').slice(0, 16);
const reset = async (one: Replica, dryRun = false) =>
  (await one.run({
    kind: 'reset-clock',
    epoch: freshEpoch(),
    reason: 'the clock was ahead',
    dryRun,
  })) as { aheadMs: number; restamped: number; origin: string };

const lastStamp = ({ db }: Replica) => db.prepare('SELECT hlc FROM log_state').pluck().get() as string;

const WORDS = ['store', 'update', 'delete', 'archive', 'restore', 'promote', 'link', 'sync'] as const;

interface Action {
  readonly what: (typeof WORDS)[number];
  readonly which: number;
  readonly wait: number;
}

const actions: fc.Arbitrary<Action[]> = fc.array(
  fc.record({
    what: fc.constantFrom(...WORDS, 'update'),
    which: fc.nat({ max: 3 }),
    wait: fc.nat({ max: 2000 }),
  }),
  { maxLength: 14 },
);

const on = (what: Action['what']): Action => ({ what, which: 2, wait: 0 });

/** Histories that the audit once misjudged. */
const KEPT = [
  // The store over the tombstone leaves the archived copy of the delete, and the restore that comes later too.
  {
    common: [on('store')],
    ahead: [],
    other: [on('delete'), on('store')],
    stuck: [on('archive'), on('restore')],
  },
];

async function act(one: Replica, other: Replica, ids: readonly string[], { what, which, wait }: Action) {
  one.nowMs += wait;
  const id = ids[which]!;
  const attempt = (command: Parameters<Replica['run']>[0]) => one.store.execute(command);
  if (what === 'sync') return await exchange(other, one);
  if (what === 'store') {
    const memory = aMemory({ id, title: `title ${which % 2}`, content: `stored ${one.nowMs}`, tier: 'mid' });
    return await attempt({ kind: 'import-memory', memory, archive: true });
  }
  if (what === 'update') return await attempt(updating(id, { content: `updated ${one.nowMs}` }));
  if (what === 'delete') return await attempt(deleting(id));
  if (what === 'link') return await attempt(linking(id, ids[(which + 1) % 4]!));
  if (what === 'archive')
    return await attempt({ kind: 'archive-memories', ids: [id], viewer: OPERATOR, reason: 'archived' });
  if (what === 'promote')
    return await attempt({ kind: 'promote-memory', id, targetTier: 'long', viewer: OPERATOR });
  return await attempt({
    kind: 'restore-memory',
    id,
    viewer: OPERATOR,
    archive: true,
    ttlSeconds: { short: 60, mid: 600, long: null },
  });
}

describe('a log whose clock was ahead', () => {
  it('replicates again when its clock was reset, with every row as it was', async () => {
    const history = fc.record({ common: actions, ahead: actions, other: actions, stuck: actions });
    let restamped = 0;
    await fc.assert(
      fc.asyncProperty(history, async ({ common, ahead, other, stuck }) => {
        const [a, b] = [replica('a', START_MS), replica('b', START_MS)] as [Replica, Replica];
        const ids = Array.from({ length: 4 }, () => aMemory().id);
        for (const each of common) await act(a, b, ids, each);
        await exchange(a, b);
        a.nowMs += DAYS_MS;
        await a.run(storing({ title: 'ahead' }));
        for (const each of ahead) await act(a, b, ids, each);
        for (const each of other) await act(b, a, ids, each);
        a.nowMs -= DAYS_MS;
        for (const each of stuck) await act(a, b, ids, each);
        a.nowMs += 5;
        const before = contents(a);
        const planned = await reset(a, true);
        assert.deepEqual(contents(a), before, 'a dry run changes nothing');
        const done = await reset(a);
        assert.deepEqual([done.aheadMs, done.restamped], [planned.aheadMs, planned.restamped]);
        restamped += done.restamped;
        assert.deepEqual(contents(a), before);
        assert.deepEqual(a.audit(), []);
        assert.equal((await reset(a)).aheadMs, 0);
        b.nowMs = Math.max(a.nowMs, b.nowMs);
        assert.deepEqual((await exchange(a, b)).refused, []);
        await settled([a, b]);
        await assertEqual([a, b]);
        for (const one of [a, b]) await one.store.close();
      }),
      { numRuns: 80, examples: KEPT.map((each): [typeof each] => [each]) },
    );
    assert.ok(restamped > 150, `only ${restamped} operations were restamped`);
  });

  it('ends equal with nodes that took its operations because their clocks were ahead too', async () => {
    const history = fc.record({
      ahead: actions,
      also: actions,
      stuck: actions,
      late: actions,
      both: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(history, async ({ ahead, also, stuck, late, both }) => {
        const [a, b, c] = ['a', 'b', 'c'].map((name) => replica(name, START_MS)) as [
          Replica,
          Replica,
          Replica,
        ];
        const ids = Array.from({ length: 4 }, () => aMemory().id);
        await a.run(storing({ title: 'common' }));
        await settled([a, b, c]);
        a.nowMs += DAYS_MS;
        c.nowMs += DAYS_MS;
        for (const each of ahead) await act(a, b, ids, each);
        await exchange(a, c);
        if (both) for (const each of also) await act(c, a, ids, each);
        a.nowMs -= DAYS_MS;
        c.nowMs -= DAYS_MS;
        for (const each of stuck) await act(a, c, ids, each);
        for (const each of late) await act(b, a, ids, each);
        a.nowMs += 5;
        await reset(a);
        await reset(c);
        for (const one of [a, b, c]) one.nowMs = START_MS + 60_000;
        await settled([a, b, c]);
        // What another node made under a stamp ahead is reset there; then nobody holds anything back.
        await reset(a);
        await reset(c);
        await settled([a, b, c]);
        await assertEqual([a, b, c]);
        for (const one of [a, b, c]) await one.store.close();
      }),
      { numRuns: 60 },
    );
  });

  it('renames nothing that other nodes take, and heard stamps move its clock 60 s at most', async () => {
    const [a, b] = [replica('a', START_MS + 59_000), replica('b', START_MS)] as [Replica, Replica];
    await a.run(storing({ title: 'a minute ahead' }));
    assert.deepEqual((await exchange(a, b)).refused, []);
    for (const one of [a, b]) {
      one.nowMs = START_MS;
      assert.deepEqual([(await reset(one)).restamped, (await reset(one)).aheadMs], [0, 0]);
    }
    a.nowMs = START_MS + DAYS_MS;
    await a.run(storing({ title: 'ten days ahead' }));
    const { refused } = await exchange(a, b);
    assert.deepEqual(
      refused.map(({ reason }) => reason),
      ['clock_skew'],
    );
    assert.ok(lastStamp(b) < `${START_MS + 60_001}`);
    a.nowMs = START_MS + 1;
    const { restamped, origin } = await reset(a);
    assert.equal(restamped, 1);
    assert.ok(lastStamp(a) < `${START_MS + 60_001}`);
    const kept = a.db.prepare('SELECT count(*) FROM operations WHERE origin <> ?').pluck().get(origin);
    assert.equal(kept, 1, 'the operation that the other node has keeps its name');
  });

  it('gives the ends of two origins new stamps, as a restore under a wrong clock leaves them', async () => {
    const [a, b] = [replica('a', START_MS), replica('b', START_MS)] as [Replica, Replica];
    const first = aMemory({ title: 'first' });
    await a.run(storing(first));
    await exchange(a, b);
    a.nowMs += DAYS_MS;
    const second = aMemory({ title: 'second' });
    await a.run(storing(second));
    await a.run(updating(first.id, { content: 'ahead' }));
    await a.run({ kind: 'begin-epoch', epoch: '00000000000000ff', reason: 'restored', keep: null });
    await a.run(updating(second.id, { content: 'under the second origin' }));
    await a.run(updating(first.id, { content: 'under the second origin too' }));
    a.nowMs -= DAYS_MS;
    const before = contents(a);
    assert.equal((await reset(a)).restamped, 4);
    assert.deepEqual(contents(a), before);
    await settled([a, b]);
    await assertEqual([a, b]);
    const conflicts = await b.store.query({ kind: 'list-conflicts', limit: 10 });
    assert.deepEqual(conflicts.ok && conflicts.value, []);
  });
});
