import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { loadSettings } from '../../../node/config/load-settings.js';
import { startDaemon } from '../../../node/runtime/daemon.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { onTestStore } from '../../support/test-store.js';
import { until } from '../../support/wait.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const PATH = '/api/v1/memories/bulk';
const alice = { 'x-agent-id': 'ai:alice' };

interface Row {
  index: number;
  id?: string;
  code?: string;
  error?: string;
  duplicate?: boolean;
  existing_id?: string;
}
interface Bulk {
  created: number;
  errors: string[];
  results: Row[];
}

let node: HttpNode;
before(async () => {
  node = await openHttpNode({ pageSizeMax: 600 });
});
after(() => node.close());

async function bulk(rows: unknown, headers: Record<string, string> = alice): Promise<Bulk> {
  const answer = await node.send('POST', PATH, rows, headers);
  assert.equal(answer.status, 200, answer.text);
  return answer.json as unknown as Bulk;
}
const memoryOf = async (id: string) =>
  (await node.send('GET', `/api/v1/memories/${id}`, undefined, alice)).json!['memory'] as Record<
    string,
    unknown
  >;

test('every row is stored as POST /memories stores it, in order, aliases included', async () => {
  const before = await node.counts();
  const rows = Array.from({ length: 600 }, (_, n) => ({
    title: `row ${n}`,
    content: `c ${n}`,
    tags: [`t${n}`],
  }));
  const answer = await bulk([
    ...rows.slice(0, 599),
    { ...rows[599], memory_kind: 'decision', scope: 'private' },
  ]);
  assert.deepEqual([answer.created, answer.errors], [600, []]);
  assert.deepEqual(
    answer.results.map(({ index }) => index),
    rows.map((_, index) => index),
  );
  const last = await memoryOf(answer.results[599]!.id!);
  assert.deepEqual([last['title'], last['kind'], last['source']], ['row 599', 'decision', 'api']);
  assert.deepEqual(last['metadata'], { agent_id: 'ai:alice', scope: 'private', attest_level: 'claimed' });
  const now = await node.counts();
  assert.deepEqual([now.rows, now.operations], [before.rows + 600, before.operations + 600]);
});

test('a failing row has its own code and costs its neighbours nothing', async () => {
  const bad: [unknown, string][] = [
    [null, 'VALIDATION_FAILED'],
    [7, 'VALIDATION_FAILED'],
    ['text', 'VALIDATION_FAILED'],
    [[], 'VALIDATION_FAILED'],
    [[{ title: 'nested', content: 'x' }], 'VALIDATION_FAILED'],
    [{}, 'VALIDATION_FAILED'],
    [{ title: 'no content' }, 'VALIDATION_FAILED'],
    [{ title: 'bad tier', content: 'x', tier: 'eternal' }, 'VALIDATION_FAILED'],
    [{ title: 'typo', content: 'x', tilte: 'y' }, 'UNKNOWN_FIELD'],
    [{ title: 'twice', content: 'x', kind: 'claim', memory_kind: 'event' }, 'VALIDATION_FAILED'],
    [{ title: 'other', content: 'x', agent_id: 'ai:bob' }, 'agent_id_body_header_mismatch'],
    [{ title: 'other', content: 'x', metadata: { agent_id: 'ai:bob' } }, 'agent_id_body_header_mismatch'],
    [{ title: 'signed', content: 'x', signature: 'AAAA' }, 'VALIDATION_FAILED'],
    [{ title: 'dated', content: 'x', created_at: '2020-01-01T00:00:00Z' }, 'VALIDATION_FAILED'],
    [{ title: 'taken', content: 'other' }, 'CONFLICT'],
  ];
  const rows = [
    { title: 'taken', content: 'first' },
    ...bad.map(([row]) => row),
    { title: 'last', content: 'x' },
  ];
  const answer = await bulk(rows);
  assert.equal(answer.created, 2);
  assert.deepEqual(
    answer.results.slice(1, -1).map(({ code }) => code),
    bad.map(([, code]) => code),
  );
  assert.equal(answer.errors.length, bad.length);
  assert.equal(answer.results[0]!.error, undefined);
  assert.equal((await memoryOf(answer.results[0]!.id!))['content'], 'first', 'the first of two came first');
  assert.equal(answer.results.at(-2)!.existing_id, answer.results[0]!.id);
  assert.match(answer.errors.at(-1)!, /^15: a memory with this title already exists/);
});

test('on_conflict holds between the rows of one request', async () => {
  const answer = await bulk([
    { title: 'merged', content: 'one', on_conflict: 'merge' },
    { title: 'merged', content: 'two', on_conflict: 'merge' },
    { title: 'merged', content: 'three', on_conflict: 'version' },
  ]);
  assert.equal(answer.created, 2);
  assert.deepEqual([answer.results[1]!.id, answer.results[1]!.duplicate], [answer.results[0]!.id, true]);
  assert.equal((await memoryOf(answer.results[0]!.id!))['content'], 'two');
  assert.equal((await memoryOf(answer.results[2]!.id!))['title'], 'merged (2)');
});

test('more rows than the page cap are refused whole, with the cap; none is fine', async () => {
  const before = await node.counts();
  const rows = Array.from({ length: 601 }, (_, n) => ({ title: `over ${n}`, content: 'x' }));
  const answer = await node.send('POST', PATH, rows, alice);
  assert.equal(answer.status, 400);
  assert.match(answer.json!['error'] as string, /600/);
  assert.deepEqual(await node.counts(), before);
  assert.deepEqual(await bulk([]), { created: 0, errors: [], results: [] });
  for (const body of [{}, { memories: {} }, 7, null]) {
    assert.equal((await node.send('POST', PATH, body, alice)).status, 400);
  }
});

test('without a header each row speaks for itself, and for nobody else', async () => {
  const answer = await bulk(
    [
      { title: 'by carol', content: 'x', agent_id: 'ai:carol' },
      { title: 'by nobody', content: 'x' },
      { title: 'by dave', content: 'x', agent_id: 'ai:dave' },
      { title: 'by the system', content: 'x', agent_id: 'system' },
      { title: 'by a number', content: 'x', agent_id: 7 },
      { title: 'by carol', content: 'not hers', agent_id: 'ai:dave', on_conflict: 'merge' },
    ],
    {},
  );
  assert.deepEqual(
    answer.results.map(({ code }) => code),
    [undefined, undefined, undefined, 'VALIDATION_FAILED', 'VALIDATION_FAILED', 'CONFLICT'],
  );
  const owners = await Promise.all(
    answer.results
      .slice(0, 3)
      .map(async ({ id }) => (await memoryOf(id!))['metadata'] as { agent_id: string }),
  );
  assert.deepEqual([owners[0]!.agent_id, owners[2]!.agent_id], ['ai:carol', 'ai:dave']);
  assert.match(owners[1]!.agent_id, /^anonymous:req-/);
});

test('rows are held to attestation like any other store', async () => {
  const strict = await openHttpNode({ requireAttestation: true });
  try {
    const answer = await strict.send('POST', PATH, [{ title: 't', content: 'c' }], alice);
    assert.equal(answer.status, 200);
    const { created, results } = answer.json as unknown as Bulk;
    assert.deepEqual([created, results[0]!.code], [0, 'ATTESTATION_FAILED']);
    assert.equal((await strict.counts()).rows, 0);
  } finally {
    await strict.close();
  }
});

test('no row is lost or misreported when the writer dies in the middle', async () => {
  const home = temporaryFolder('bulk-crash');
  const settings = onTestStore(
    loadSettings(
      { home, port: 0, embedBackend: 'none', requireAttestation: false, logLevel: 'silent' },
      { env: {} },
    ),
  );
  const daemon = await startDaemon(settings);
  const base = `http://127.0.0.1:${daemon.address.port}/api/v1`;
  const list = async (query: string) => {
    const response = await fetch(`${base}/memories?${query}`);
    return ((await response.json()) as { memories: { id: string }[] }).memories;
  };
  let restarted = 0;
  let before = 0;
  for (let round = 0; round < 4; round += 1) {
    const rows = Array.from({ length: 1000 }, (_, n) => ({
      title: `round ${round} row ${n}`,
      content: 'x'.repeat(1500),
    }));
    const sent = fetch(`${base}/memories/bulk`, {
      method: 'POST',
      // A new agent each time: a day's quota is 1,000 memories.
      headers: { 'content-type': 'application/json', 'x-agent-id': `ai:round-${round}` },
      body: JSON.stringify(rows),
    });
    // The first new row that can be read shows that the batches are under way.
    await until('a new row can be read', async () => (await list(`limit=1&offset=${before}`)).length > 0, {
      everyMs: 0,
    });
    daemon.crashWriter();
    const { created, results } = (await (await sent).json()) as Bulk;
    assert.equal(results.length, 1000);
    assert.equal(created, results.filter(({ id }) => id !== undefined).length);
    const stored = new Set<string>();
    for (let offset = 0; ; offset += 1000) {
      const page = await list(`limit=1000&offset=${offset}`);
      for (const { id } of page) stored.add(id);
      if (page.length < 1000) break;
    }
    before = stored.size;
    for (const row of results) {
      if (row.id !== undefined) assert.ok(stored.has(row.id), `row ${row.index} is lost`);
      else assert.equal(row.code, 'ACTOR_RESTARTED');
    }
    restarted += results.filter(({ code }) => code === 'ACTOR_RESTARTED').length;
  }
  assert.ok(restarted > 0, 'no round was cut in the middle');
  await daemon.stop();
  assert.deepEqual(auditLog(settings.dbPath), []);
});
