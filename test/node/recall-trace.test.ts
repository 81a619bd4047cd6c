import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { observationsRound } from '../../actors/maintenance/observations.js';
import { systemCrypto } from '../../node/seams.js';
import { RECALL_USE_SECONDS } from '../../protocol/base/ledger-limits.js';
import { instantAfter } from '../../protocol/base/time.js';
import type { MemoryUse } from '../../protocol/decide/used.js';
import type { RecallObservation, UsedMemory } from '../../protocol/memory/recall-ledger.js';
import type { TouchMemoriesOutcome } from '../../protocol/memory/touch.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { deleting, OPERATOR, storing, tenant } from '../support/memories.js';
import { type Replica, replica, replicaOver } from '../support/replicas.js';

const AT = '2026-03-01T12:00:00.000Z';
const later = (seconds: number) => instantAfter(AT, seconds);
const NO_LIFE = { extendSeconds: { short: null, mid: null, long: null }, promoteAccessCount: 5 };

const recall = (recallId: string, fields: Partial<RecallObservation> = {}): RecallObservation => ({
  ...{ recallId, agentId: 'ai:a', retriever: 'keyword', observedAt: AT, memoryIds: ['m1', 'm2'] },
  ...{ scores: [0.9, 0.5] },
  trace: { query: 'ferry', namespace: null, wordsOnly: 'disabled', weak: false, below: 2, tookMs: 3 },
  ...fields,
});

const use = (memoryId: string, how: MemoryUse, seconds: number, agentId = 'ai:a'): UsedMemory => ({
  ...{ agentId, memoryId, how, at: later(seconds) },
});

const opened = () => replica('trace', Date.parse(AT));

async function touch(one: Replica, more: { observations?: RecallObservation[]; used?: UsedMemory[] }) {
  return (await one.run({
    ...{ kind: 'touch-memories', touches: [], policy: NO_LIFE },
    ...more,
  })) as TouchMemoriesOutcome;
}

const usesOf = ({ db }: Replica, recallId: string) =>
  JSON.parse(
    String(
      db
        .prepare('SELECT coalesce(uses, ?) FROM recall_observations WHERE recall_id = ?')
        .pluck()
        .get('[]', recallId),
    ),
  ) as unknown;

async function listed({ store }: Replica, more: object = {}) {
  const found = await store.query({
    ...{ kind: 'list-recalls', recallId: null, namespace: null, outcome: null, used: null, since: null },
    ...{ until: null, agentId: null, after: undefined, limit: 10, viewer: OPERATOR, now: AT },
    ...more,
  });
  assert.ok(found.ok);
  return found.value;
}

describe('what is used of a recall', () => {
  it('is noted at the newest recall of the agent that answered it, once for each sort', async () => {
    const one = opened();
    await touch(one, { observations: [recall('r1'), recall('r2', { observedAt: later(60) })] });
    const used = [
      use('m1', 'read', 30),
      use('m1', 'read', 90),
      use('m2', 'updated', 91),
      use('m2', 'read', 92),
    ];
    assert.equal((await touch(one, { used })).used, 3);
    assert.deepEqual(usesOf(one, 'r1'), [['m1', 'read', later(30)]]);
    const ofSecond = [
      ['m1', 'read', later(90)],
      ['m2', 'updated', later(91)],
      ['m2', 'read', later(92)],
    ];
    assert.deepEqual(usesOf(one, 'r2'), ofSecond);
    assert.equal((await touch(one, { used: [use('m1', 'read', 95)] })).used, 0, 'it is known');
    assert.deepEqual(usesOf(one, 'r2'), ofSecond);
    assert.deepEqual(
      (await listed(one)).recalls.map(({ recall_id, rows, used: count }) => [recall_id, rows, count]),
      [
        ['r2', 2, 2],
        ['r1', 2, 1],
      ],
    );
    await one.store.close();
  });

  it('counts for a recall that is recorded with it', async () => {
    const one = opened();
    const outcome = await touch(one, { observations: [recall('r1')], used: [use('m2', 'linked', 1)] });
    assert.deepEqual([outcome.used, usesOf(one, 'r1')], [1, [['m2', 'linked', later(1)]]]);
    await one.store.close();
  });

  it('does not count when another agent did it, too late, before, or with another memory', async () => {
    const one = opened();
    await touch(one, { observations: [recall('r1')] });
    const used = [
      ...[use('m1', 'read', 5, 'ai:b'), use('m1', 'read', RECALL_USE_SECONDS + 1)],
      ...[use('m1', 'read', -1), use('m3', 'read', 5)],
    ];
    assert.equal((await touch(one, { used })).used, 0);
    assert.deepEqual(usesOf(one, 'r1'), []);
    assert.equal((await touch(one, { used: [use('m1', 'read', RECALL_USE_SECONDS)] })).used, 1);
    await one.store.close();
  });

  it('counts whichever process of a person without a name did it', async () => {
    const one = opened();
    const person = (pid: number) => `host:desk:pid-${pid}-0123abcd`;
    await touch(one, { observations: [recall('r1', { agentId: person(7) })] });
    assert.equal((await touch(one, { used: [use('m1', 'read', 5, 'host:other:pid-9-0123abcd')] })).used, 0);
    assert.equal((await touch(one, { used: [use('m1', 'read', 5, person(9))] })).used, 1);
    await one.store.close();
  });

  it('and what recalls came to is counted, for each agent and for all', async () => {
    const one = opened();
    const trace = { query: 'x', namespace: 'team', wordsOnly: null, weak: true, below: 0, tookMs: 1 };
    await touch(one, {
      observations: [
        ...[recall('r1'), recall('r2', { memoryIds: [], scores: [], agentId: 'ai:b' })],
        recall('r3', { memoryIds: ['m3'], scores: [0.2], retriever: 'hybrid', trace }),
        // As a release before this one, or a node without a trace, records it.
        (({ trace: _trace, ...bare }) => bare)(recall('r4', { memoryIds: ['m9'], scores: [0.9] })),
      ],
      used: [use('m1', 'read', 5), use('m2', 'read', 6)],
    });
    const figures = async (agentId: string | null) => {
      const found = await one.store.query({ kind: 'recall-figures', agentId });
      assert.ok(found.ok);
      return found.value;
    };
    assert.deepEqual(await figures(null), {
      ...{
        recalls: 3,
        without_row: 1,
        weak: 1,
        keyword: 2,
        rows: 3,
        rows_used: 2,
        answers_used: 1,
        since: AT,
      },
    });
    assert.deepEqual([(await figures('ai:b')).recalls, (await figures('ai:c')).since], [1, null]);
    const of = async (more: object) => (await listed(one, more)).recalls.map(({ recall_id }) => recall_id);
    assert.deepEqual(await of({ outcome: 'none' }), ['r2']);
    assert.deepEqual(await of({ outcome: 'weak' }), ['r3']);
    assert.deepEqual(await of({ outcome: 'found' }), ['r4', 'r1']);
    assert.deepEqual(await of({ used: true }), ['r1']);
    assert.deepEqual(await of({ namespace: 'team' }), ['r3']);
    assert.deepEqual(await of({ viewer: { ...tenant('ai:a'), withheld: ['^team$'] }, agentId: 'ai:a' }), [
      'r4',
      'r1',
    ]);
    await one.store.close();
  });
});

describe('an erasure takes from the ledger of recalls', () => {
  /** A memory in a namespace, and the ledger after its erasure; `between` happens before its traces are cleared. */
  async function erased(one: Replica, namespace: string, between?: (id: string) => Promise<unknown>) {
    const command = storing({ title: 'gone', namespace });
    await one.run(command);
    const { id } = command.memory;
    await between?.(id);
    await one.run({ ...deleting(id), erasedBy: 'ai:a' });
    await one.run({ kind: 'clear-erased', ids: [id] });
    return id;
  }
  const rowsOf = ({ db }: Replica) =>
    db.prepare('SELECT recall_id, memories, query, uses FROM recall_observations ORDER BY seq').all();

  it('the memory, and each query that may be about it', async () => {
    const one = opened();
    const at = (namespace: string | null, query: string) => ({
      ...{ query, namespace, wordsOnly: null, weak: false, below: 0, tookMs: 1 },
    });
    const id = await erased(one, 'team/a', async (gone) => {
      const answered = { memoryIds: [gone, 'm2'], scores: [0.9, 0.5] };
      await touch(one, {
        observations: [
          recall('answered', { ...answered, trace: at('elsewhere', 'asked there') }),
          recall('everywhere', { trace: at(null, 'asked everywhere') }),
          recall('above', { trace: at('team', 'asked above') }),
          recall('below', { trace: at('team/a/b', 'asked below, and so there too') }),
          recall('tree', { trace: at('team/**', 'asked in the tree') }),
          recall('beside', { trace: at('team/b', 'asked beside') }),
        ],
        used: [use(gone, 'read', 1), use('m2', 'read', 2)],
      });
    });
    const rows = rowsOf(one) as {
      recall_id: string;
      query: string | null;
      memories: string;
      uses: string | null;
    }[];
    assert.deepEqual(
      rows.map(({ recall_id, query }) => [recall_id, query]),
      [
        ...[
          ['answered', null],
          ['everywhere', null],
          ['above', 'asked above'],
          ['below', null],
          ['tree', null],
        ],
        ['beside', 'asked beside'],
      ],
    );
    assert.equal(rows[0]!.memories, '[["",0.9],["m2",0.5]]', 'ranks stay');
    assert.ok(!JSON.stringify(rows).includes(id));
    await one.store.close();
  });

  it('also what waited to be written when it was erased', async () => {
    const one = opened();
    const id = await erased(one, 'team');
    const before = instantAfter(new Date(one.nowMs).toISOString(), -1);
    const after = instantAfter(new Date(one.nowMs).toISOString(), 1);
    const rows = { memoryIds: [id, 'm2'], scores: [0.9, 0.5] };
    await one.run({
      ...{ kind: 'touch-memories', touches: [], policy: NO_LIFE },
      observations: [
        recall('before', { ...rows, observedAt: before }),
        recall('after', { memoryIds: ['m2'], scores: [0.5], observedAt: after }),
      ],
      consumptions: [{ recallId: 'after', agentId: null, memoryId: id, consumedAt: before }],
    });
    const [first, second] = rowsOf(one) as { memories: string; query: string | null }[];
    assert.deepEqual([first!.memories, first!.query], ['[["",0.9],["m2",0.5]]', null]);
    assert.equal(second!.query, 'ferry', 'what is asked later is told');
    assert.equal(
      one.db.prepare('SELECT count(*) FROM recall_observations WHERE consumed_at IS NOT NULL').pluck().get(),
      0,
    );
    await one.store.close();
  });
});

describe('the ledger without a trace', () => {
  it('loses what was kept when the setting is switched off, and keeps what the interface lists', async () => {
    const one = opened();
    await touch(one, {
      observations: [recall('r1'), recall('r2', { memoryIds: [], scores: [] })],
      used: [use('m1', 'read', 1)],
    });
    await observationsRound(one.store, later(-60), true);
    assert.equal((await listed(one)).recalls.length, 2);
    await observationsRound(one.store, later(-60), false);
    const rows = one.db.prepare('SELECT * FROM recall_observations').all() as Record<string, unknown>[];
    const [{ seq: _seq, ...row }] = rows as [Record<string, unknown>];
    assert.equal(rows.length, 1);
    assert.deepEqual(row, {
      ...{ recall_id: 'r1', agent_id: 'ai:a', retriever: 'keyword', observed_at: AT },
      ...{ memories: '[["m1",0.9],["m2",0.5]]', consumed_at: null, consumed_by_memory_id: null },
      ...{ query: null, namespace: null, words_only: null, answered: null, weak: null, below: null },
      ...{ took_ms: null, used: null, uses: null },
    });
    await one.store.close();
  });
});

/** The table as releases before the trace made it. */
const OLDER = `
DROP TABLE recall_observations;
CREATE TABLE recall_observations (
  seq INTEGER PRIMARY KEY,
  recall_id TEXT NOT NULL UNIQUE,
  agent_id TEXT NOT NULL DEFAULT '',
  retriever TEXT NOT NULL,
  observed_at TEXT NOT NULL,
  memories TEXT NOT NULL,
  consumed_at TEXT,
  consumed_by_memory_id TEXT
);
CREATE INDEX recall_observations_agent ON recall_observations (agent_id);
INSERT INTO recall_observations (recall_id, agent_id, retriever, observed_at, memories, consumed_at)
  VALUES ('older', 'ai:a', 'hybrid', '${later(-60)}', '[["m1",0.7]]', '${later(-50)}');`;

describe('a database of a release before the trace', () => {
  it('keeps the recalls of its ledger, shows them, and takes further ones', async () => {
    const path = join(temporaryFolder('recall-trace'), 'mnemesh.db');
    const open = () =>
      openDatabase({
        ...{ path, identity: { peerId: 'peer-a' }, nowMs: 0, crypto: systemCrypto },
        ...{ freshEpoch: '0123456789abcdef', busyTimeoutMs: 100 },
      });
    const older = open();
    older.exec(OLDER);
    older.close();
    const one = replicaOver(open(), Date.parse(AT));
    // A release before it writes on beside this one.
    one.db.exec(
      `INSERT INTO recall_observations (recall_id, agent_id, retriever, observed_at, memories)
       VALUES ('beside', 'ai:a', 'hybrid', '${later(-40)}', '[]') ON CONFLICT DO NOTHING`,
    );
    await touch(one, { observations: [recall('newer'), recall('older')], used: [use('m1', 'read', 5)] });
    const { recalls } = await listed(one);
    assert.deepEqual(
      recalls.map(({ recall_id, query, mode, rows, used }) => [recall_id, query, mode, rows, used]),
      [
        ['newer', 'ferry', 'keyword', 2, 1],
        ['beside', null, 'hybrid', 0, null],
        ['older', null, 'hybrid', 1, null],
      ],
    );
    const indexes =
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?";
    assert.deepEqual(one.db.prepare(`${indexes} ORDER BY 1`).pluck().all('recall_observations'), [
      'recall_observations_by_agent_id',
      'recall_observations_by_recall_id',
    ]);
    await one.run({ kind: 'prune-observations', before: later(-30), limit: 10 });
    assert.deepEqual(
      (await listed(one)).recalls.map(({ recall_id }) => recall_id),
      ['newer'],
    );
    await one.store.close();
  });
});
