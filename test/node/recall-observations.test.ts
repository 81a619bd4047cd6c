import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { observationsRound } from '../../actors/maintenance/observations.js';
import { OBSERVATIONS_MAX, OBSERVATIONS_PRUNE_INTERVAL_MS } from '../../protocol/base/ledger-limits.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { auditDatabase } from '../support/log-audit.js';
import { replica } from '../support/replicas.js';
import { openTestNode } from '../support/test-node.js';
import { openBeside } from '../support/test-store.js';
import { run } from '../surface/cli/cli-process.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';

type Row = Record<string, unknown>;

const NO_LIFE = { extendSeconds: { short: null, mid: null, long: null }, promoteAccessCount: 5 };

const post = async (base: string, path: string, body: Row, agent: string) => {
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-agent-id': agent },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Row };
};

describe('the ledger of recalls', { timeout: 60_000 }, () => {
  it('is one for all processes on a database, and shows everybody only what is theirs', async () => {
    const home = temporaryFolder('observations');
    const daemon = await startDaemonProcess(home, await freePort(), {
      SVC_ADMIN_AGENT_IDS: 'ai:admin',
      SVC_ADMIN_HEADER_TRUST: '1',
    });
    const ask = (path: string, body: Row, agent: string) => post(daemon.base, path, body, agent);
    const listed = async (agent: string, body: Row = {}) =>
      (await ask('/memory_recall_observations', body, agent)).body['observations'] as Row[];
    try {
      const shared = await ask('/memories', { title: 'open', content: 'ferry' }, 'ai:alice');
      await ask('/memories', { title: 'own', content: 'ferry', scope: 'private' }, 'ai:alice');
      const { body: recalled } = await ask('/recall', { context: 'ferry' }, 'ai:alice');
      assert.equal(recalled['count'], 2);
      const mine = await listed('ai:alice');
      assert.deepEqual(
        mine.map((row) => [row['memory_id'], row['rank'], row['score']]),
        (recalled['memories'] as Row[]).map((row, index) => [row['id'], index + 1, row['score']]),
      );
      assert.deepEqual(await listed('ai:bob'), []);
      assert.deepEqual(await listed('ai:bob', { recall_id: recalled['recall_id'] }), []);
      const admins = await listed('ai:admin');
      assert.deepEqual(
        admins.map((row) => row['memory_id']),
        [shared.body['id']],
        'an admin sees the recalls of all, but not of memories that are hidden from them',
      );
      assert.deepEqual(await listed('ai:alice', { until: '2020-01-01T00:00:00Z' }), []);
      assert.equal((await listed('ai:alice', { limit: 1 })).length, 1);
      assert.equal((await ask('/memory_recall_observations', { limit: 0 }, 'ai:alice')).status, 400);
      assert.equal((await ask('/memory_recall_observations', { unconsumed: true }, 'ai:alice')).status, 400);
      assert.equal(
        (await ask('/memories', { title: 'x', content: 'x', recall_id: 'x' }, 'ai:alice')).status,
        400,
      );

      // Another process, on the same file: a recall of its own, and a memory because of the daemon's.
      const cli = await run(home, ['recall', 'ferry', '--json'], { env: { SVC_AGENT_ID: 'ai:bob' } });
      assert.equal(cli.code, 0, cli.err);
      const bobs = await listed('ai:bob');
      assert.deepEqual(
        bobs.map((row) => row['recall_id']),
        [(JSON.parse(cli.out) as Row)['recall_id']],
      );
      const consume = async (agent: string, title: string) => {
        const mcp = new McpProcess({ home, args: ['--profile', 'full'], env: { SVC_AGENT_ID: agent } });
        await mcp.request('i', 'initialize', {
          protocolVersion: '2024-11-05',
          capabilities: {},
          clientInfo: { name: 't', version: '1' },
        });
        const args = { title, content: 'why', recall_id: recalled['recall_id'] };
        const answer = JSON.parse(textOf(await mcp.call(1, 'memory_store', args))) as Row;
        await mcp.end();
        return answer['id'];
      };
      await consume('ai:bob', 'a stranger');
      assert.deepEqual(await listed('ai:alice', { consumed: true }), [], 'a stranger consumes nothing');
      const id = await consume('ai:alice', 'the owner');
      const consumed = await listed('ai:alice', { consumed: true });
      assert.deepEqual(
        consumed.map((row) => row['consumed_by_memory_id']),
        [id, id],
      );
      // What is gone or hidden is not listed any more.
      const gone = await fetch(`${daemon.base}/memories/${shared.body['id']}`, {
        method: 'DELETE',
        headers: { 'x-agent-id': 'ai:alice' },
      });
      assert.equal(gone.status, 200);
      assert.equal((await listed('ai:alice')).length, 1);
    } finally {
      await daemon.end('SIGTERM');
    }
    const db = openBeside({ home });
    const kinds = db.prepare('SELECT DISTINCT kind FROM operations ORDER BY kind').pluck().all();
    assert.deepEqual(kinds, ['delete', 'store'], 'the ledger is local: it leaves no operation');
    assert.deepEqual(auditDatabase(db), []);
    db.close();
  });

  it('keeps nothing when it is switched off', async () => {
    const node = await openTestNode({ observationsTtlDays: 0 });
    const { touches, store } = node.services;
    await touches.flush();
    const { memoryRecall } = await import('../../node/operations/core/memory-recall.js');
    const { runOperation } = await import('../../node/pipeline/pipeline.js');
    const viewer = { all: true, agentId: null, asNamespace: null };
    const caller = { agentId: 'ai:x', claimed: 'explicit', viewer, admin: false, local: true } as const;
    const { storing } = await import('../support/memories.js');
    await store.execute(storing({ title: 'ferry' }));
    const answer = await runOperation(
      memoryRecall,
      { surface: 'cli', caller, input: { context: 'ferry' }, unknownFields: 'refuse' },
      node.services,
    );
    assert.ok(answer.ok && answer.value['count'] === 1);
    await touches.flush();
    const now = new Date().toISOString();
    const found = await store.query({
      kind: 'recall-observations',
      recallId: null,
      consumed: null,
      since: null,
      until: null,
      limit: 10,
      agentId: null,
      viewer,
      now,
    });
    assert.ok(found.ok && found.value.observations.length === 0);
    await node.close();
  });

  it('is pruned by age in batches, and by number with every write', async () => {
    const node = await openTestNode();
    const { store } = node.services;
    const at = (day: number) => `2026-01-${String(day).padStart(2, '0')}T00:00:00.000Z`;
    const { storing } = await import('../support/memories.js');
    const memory = storing({ title: 'ferry' });
    await store.execute(memory);
    for (let day = 1; day <= 20; day += 1) {
      const observation = {
        recallId: `recall-${day}`,
        agentId: 'ai:x',
        retriever: 'keyword',
        observedAt: at(day),
        memoryIds: [memory.memory.id],
        scores: [0.5],
      };
      await store.execute({
        kind: 'touch-memories',
        touches: [],
        policy: NO_LIFE,
        observations: [observation],
      });
    }
    const count = async () => {
      const viewer = { all: true, agentId: null, asNamespace: null };
      const found = await store.query({
        kind: 'recall-observations',
        ...{ recallId: null, consumed: null, since: null, until: null, limit: 1000, agentId: null, viewer },
        now: at(20),
      });
      assert.ok(found.ok);
      return found.value.observations.map((row) => row.recall_id);
    };
    assert.equal((await count()).length, 20);
    assert.deepEqual(
      await observationsRound(store, at(15), true),
      { afterMs: 0 },
      'it looks whether there is more',
    );
    assert.deepEqual(await observationsRound(store, at(15), true), {
      afterMs: OBSERVATIONS_PRUNE_INTERVAL_MS,
    });
    assert.deepEqual(
      await count(),
      [20, 19, 18, 17, 16, 15].map((day) => `recall-${day}`),
    );
    await node.close();
  });

  it('is bounded by number with every write, and keeps a recall once', async () => {
    const one = replica('ledger', Date.parse('2026-01-02'));
    const recorded = (recallId: string) => ({
      ...{ recallId, agentId: 'ai:x', retriever: 'hybrid', observedAt: '2026-01-01T00:00:00.000Z' },
      memoryIds: ['a', 'b', 'c', 'd', 'e'],
      scores: [5, 4, 3, 2, 1],
    });
    const record = (...ids: string[]) =>
      one.run({
        ...{ kind: 'touch-memories', touches: [], policy: NO_LIFE, observations: ids.map(recorded) },
      });
    await record('r1', 'r2', 'r2');
    await record('r2', 'r3');
    const ids = () => one.db.prepare('SELECT recall_id FROM recall_observations ORDER BY seq').pluck().all();
    assert.deepEqual(ids(), ['r1', 'r2', 'r3']);
    assert.equal(
      one.db.prepare('SELECT memories FROM recall_observations LIMIT 1').pluck().get(),
      '[["a",5],["b",4],["c",3],["d",2],["e",1]]',
    );
    // As many recalls as the ledger holds, of which only the last one is there.
    one.db.exec(`UPDATE recall_observations SET seq = ${OBSERVATIONS_MAX} WHERE recall_id = 'r3'`);
    one.db.setLastNumber('recall_observations', 'seq', OBSERVATIONS_MAX);
    await record('r4', 'r5');
    assert.deepEqual(ids(), ['r3', 'r4', 'r5']);
    await one.store.close();
  });
});
