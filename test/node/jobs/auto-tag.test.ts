import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { SettingFlags } from '../../../node/config/load-settings.js';
import { type InlineNode, openInlineNode } from '../../../node/runtime/inline-node.js';
import type { Connection } from '../../../storage/sql/connection.js';
import {
  agent,
  type Fields,
  OPERATOR_CALLER,
  type Session,
  sessionOf,
} from '../../coordination/coordination-node.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { HOSTILE_ANSWER, ModelServer } from '../../support/model-server.js';
import { openBeside } from '../../support/test-store.js';
import { until, within } from '../../support/wait.js';
import { settingsFor } from '../runtime/support.js';

const TEXT =
  'The deploy window is on Sundays, from two to four in the morning, and nobody else may deploy then.';

/** MCP servers on one database; the oldest owns it, and there is no daemon. */
class Servers {
  readonly home = temporaryFolder('auto-tag');
  readonly open: InlineNode[] = [];
  #db: Connection | null = null;

  async start(model: ModelServer, flags: SettingFlags = {}): Promise<InlineNode> {
    const llm = { llmBackend: 'local-native', llmBaseUrl: model.url, llmModel: 'scripted' } as const;
    const settings = settingsFor(this.home, { autonomousHooks: true, ...llm, ...flags });
    const node = await openInlineNode(settings, 'mcp');
    this.open.push(node);
    return node;
  }

  get db(): Connection {
    this.#db ??= openBeside({ home: this.home });
    return this.#db;
  }

  job(memoryId: string): Fields {
    return this.db.prepare('SELECT * FROM jobs WHERE id LIKE ?').get(`auto_tag:${memoryId}:%`) as Fields;
  }

  async state(memoryId: string, state: string): Promise<Fields> {
    await until(`the job is ${state}`, () => this.job(memoryId)?.['state'] === state, {
      seen: () => JSON.stringify(this.job(memoryId)),
    });
    return this.job(memoryId);
  }

  async close(): Promise<void> {
    this.#db?.close();
    for (const node of this.open.splice(0)) await node.close();
  }
}

/** Queues what a store would have queued. */
function queueFor(db: Connection, memoryId: string, caller: string): void {
  const at = new Date().toISOString();
  db.prepare(
    `INSERT INTO jobs (id, type, state, caller, local, input, due_at, created_at, runs, attempts, interruptions, waits, steps)
     VALUES (?, 'auto_tag', 'queued', ?, 0, ?, ?, ?, 0, 0, 0, 0, '{}')`,
  ).run(`auto_tag:${memoryId}:1`, caller, JSON.stringify({ memory_id: memoryId }), at, at);
}

const storing = (more: Fields = {}): Fields => ({ title: 'Deploy window', content: TEXT, ...more });

async function memoryOf(session: Session, id: unknown): Promise<Fields> {
  return (await session.run('memory_get', { id }))['memory'] as Fields;
}

describe('a store with autonomous hooks', () => {
  let model: ModelServer;
  let servers: Servers;
  beforeEach(async () => {
    model = await ModelServer.start();
    model.says = 'deploy\nwindow\nSunday';
    servers = new Servers();
  });
  afterEach(async () => {
    await servers.close();
    await model.close();
  });

  it('is answered at once, and its memory is tagged later, in its metadata', async () => {
    const node = await servers.start(model);
    const ann = sessionOf(node.services, agent('ai:ann'));
    const stored = await ann.run('memory_store', storing({ tags: ['mine'], metadata: { kept: 1 } }));
    assert.equal('autonomy_hook_skipped' in stored, false);
    const job = await servers.state(String(stored['id']), 'done');
    assert.deepEqual(
      [job['caller'], job['local'], job['attempts'], job['steps'], JSON.parse(String(job['result']))],
      ['ai:ann', 1, 0, '{}', { tags: ['deploy', 'window', 'sunday'] }],
    );
    const memory = await memoryOf(ann, stored['id']);
    const metadata = memory['metadata'] as Fields;
    assert.deepEqual(
      [memory['tags'], metadata['auto_tags'], metadata['kept'], metadata['agent_id'], memory['version']],
      [['mine'], ['deploy', 'window', 'sunday'], 1, 'ai:ann', 2],
    );
    assert.match(String(metadata['curated_at']), /^\d{4}-\d\d-\d\dT/);
    assert.equal(metadata['attest_level'], 'agent_attested', 'the signed text is as it was');
  });

  it('says why a memory is not tagged, and asks no model', async () => {
    const node = await servers.start(model);
    const ann = sessionOf(node.services, OPERATOR_CALLER);
    const short = await ann.run('memory_store', storing({ content: 'x'.repeat(49) }));
    assert.equal(short['autonomy_hook_skipped'], 'content_too_short');
    const long = await ann.run('memory_store', storing({ title: 'long', content: '😀'.repeat(50) }));
    assert.equal('autonomy_hook_skipped' in long, false);
    await node.close();
    servers.open.pop();
    const none = await servers.start(model, { llmBackend: 'none' });
    const without = await sessionOf(none.services, agent('ai:ann')).run(
      'memory_store',
      storing({ title: 'none' }),
    );
    assert.equal(without['autonomy_hook_skipped'], 'no_llm');
    await none.close();
    servers.open.pop();
    const off = await servers.start(model, { autonomousHooks: false });
    const quiet = await sessionOf(off.services, agent('ai:ann')).run(
      'memory_store',
      storing({ title: 'off' }),
    );
    assert.equal('autonomy_hook_skipped' in quiet, false);
    const queued = servers.db
      .prepare('SELECT count(*) FROM jobs WHERE id NOT LIKE ?')
      .pluck()
      .get(`auto_tag:${long['id']}:%`);
    assert.equal(queued, 0);
  });

  it('neither waits for a model nor fails with it', async () => {
    model.mood = 'hang';
    const node = await servers.start(model, { llmCallTimeoutMs: 60_000 });
    const ann = sessionOf(node.services, agent('ai:ann'));
    const first = await ann.run('memory_store', storing());
    await until('the model is asked', () => model.asked.length === 1);
    await within('a store beside a model that hangs', ann.run('memory_store', storing({ title: 'second' })), {
      withinMs: 2000,
    });
    assert.equal(servers.job(String(first['id']))['state'], 'running');
    await within('the server ends beside it', servers.close(), { withinMs: 10_000 });
    servers = Object.assign(new Servers(), { home: servers.home });
    assert.equal(servers.job(String(first['id']))['state'], 'queued', 'its end is no failure of the job');
    assert.equal(servers.job(String(first['id']))['attempts'], 0);
  });

  it('waits while the model is away, and goes on when it is back', async () => {
    const node = await servers.start(model);
    const ann = sessionOf(node.services, agent('ai:ann'));
    const { port } = model;
    await model.close();
    const { id } = await ann.run('memory_store', storing());
    await until('the job has found no model', () => Number(servers.job(String(id))['waits']) > 0);
    const job = servers.job(String(id));
    assert.deepEqual([job['state'], job['attempts'], job['error_code']], ['queued', 0, 'LLM_UNAVAILABLE']);
    await node.close();
    servers.open.pop();
    model = await ModelServer.start('native', { port });
    model.says = 'deploy';
    servers.db.prepare('UPDATE jobs SET due_at = created_at').run();
    await servers.start(model);
    await servers.state(String(id), 'done');
  });

  it('waits until midnight when the requests of the day are used up', async () => {
    const node = await servers.start(model, { llmCallsPerDay: 1 });
    const ann = sessionOf(node.services, agent('ai:ann'));
    const first = await ann.run('memory_store', storing());
    await servers.state(String(first['id']), 'done');
    const second = await ann.run('memory_store', storing({ title: 'second' }));
    await until('the cap is met', () => servers.job(String(second['id']))['error_code'] === 'LLM_LIMIT');
    const { state, due_at, attempts } = servers.job(String(second['id']));
    assert.deepEqual([state, attempts, String(due_at).slice(10)], ['queued', 0, 'T00:00:00.000Z']);
    assert.ok(String(due_at) > new Date().toISOString());
    assert.equal(model.asked.length, 1);
  });

  it('takes from a hostile answer nothing but short tags', async () => {
    model.says = HOSTILE_ANSWER;
    const node = await servers.start(model);
    const ann = sessionOf(node.services, agent('ai:ann'));
    const { id } = await ann.run('memory_store', storing());
    await until(
      'the answer was read',
      () =>
        ['done', 'queued', 'failed'].includes(String(servers.job(String(id))['state'])) &&
        model.asked.length > 0,
    );
    await until('its end is recorded', () => servers.job(String(id))['state'] !== 'running');
    const memory = await memoryOf(ann, id);
    const tags = ((memory['metadata'] as Fields)['auto_tags'] ?? []) as readonly string[];
    assert.ok(tags.length <= 8);
    for (const tag of tags) assert.ok(tag.length <= 64 && !/[<>{}\u0000-\u001f]/.test(tag), tag);
    assert.deepEqual([memory['content'], memory['tags'], memory['title']], [TEXT, [], 'Deploy window']);
  });

  it('of a memory that is gone, or tagged already, is done without a question', async () => {
    model.mood = 'dead';
    const node = await servers.start(model);
    const ann = sessionOf(node.services, agent('ai:ann'));
    const gone = await ann.run('memory_store', storing());
    const tagged = await ann.run(
      'memory_store',
      storing({ title: 'tagged', metadata: { auto_tags: ['by hand'] } }),
    );
    await ann.run('memory_delete', { id: gone['id'] });
    await node.close();
    servers.open.pop();
    servers.db.prepare("UPDATE jobs SET state = 'queued', due_at = created_at, ended_at = NULL").run();
    const asked = model.asked.length;
    await servers.start(model);
    const done = await servers.state(String(gone['id']), 'done');
    assert.deepEqual(JSON.parse(String(done['result'])), { skipped: 'the memory is gone' });
    await servers.state(String(tagged['id']), 'done');
    assert.equal(model.asked.length, asked);
  });

  it('asks again when the memory was changed while the model read it', async () => {
    const node = await servers.start(model);
    const ann = sessionOf(node.services, agent('ai:ann'));
    model.delayMs = 1500;
    const { id } = await ann.run('memory_store', storing());
    await until('the model is asked', () => model.asked.length === 1);
    await ann.run('memory_update', { id, content: `${TEXT} It was moved to Mondays.` });
    await until(
      'the answer came too late',
      () => servers.job(String(id))['error_code'] === 'VERSION_CONFLICT',
    );
    const changed = await memoryOf(ann, id);
    assert.equal((changed['metadata'] as Fields)['auto_tags'], undefined);
    model.delayMs = 0;
    servers.db.prepare('UPDATE jobs SET due_at = created_at').run();
    await servers.state(String(id), 'done');
    assert.equal(model.asked.length, 2);
    assert.match(model.asked[1]!.prompt, /Mondays/);
  });

  it('waits for the approver where a policy asks for one, and stores no tags before', async () => {
    const node = await servers.start(model, { llmBackend: 'none' });
    const operator = sessionOf(node.services, OPERATOR_CALLER);
    const ann = sessionOf(node.services, agent('ai:ann'));
    const { id } = await ann.run('memory_store', storing({ namespace: 'asked' }));
    const governance = { write: 'approve', approver: 'human' };
    await operator.run('memory_namespace_set_standard', { namespace: 'asked', governance });
    queueFor(servers.db, String(id), 'ai:ann');
    await node.close();
    servers.open.pop();
    const tagging = await servers.start(model);
    const done = await servers.state(String(id), 'done');
    const result = JSON.parse(String(done['result'])) as Fields;
    assert.deepEqual(result['tags'], ['deploy', 'window', 'sunday']);
    const asNow = sessionOf(tagging.services, OPERATOR_CALLER);
    const { pending } = (await asNow.run('memory_pending_list', { status: 'pending' })) as {
      pending: Fields[];
    };
    assert.deepEqual(
      pending.map((action) => [action['id'], action['requested_by']]),
      [[result['pending_id'], 'ai:ann']],
    );
    assert.equal((await memoryOf(asNow, id))['version'], 1);
    await asNow.run('memory_agent_register', { agent_id: 'ai:operator', agent_type: 'human' });
    await asNow.run('memory_pending_approve', { id: result['pending_id'] });
    const tagged = (await memoryOf(asNow, id))['metadata'] as Fields;
    assert.deepEqual(tagged['auto_tags'], ['deploy', 'window', 'sunday']);
  });

  it('is done with what its agent sees and may change, and with no more', async () => {
    const node = await servers.start(model, { llmBackend: 'none' });
    const ann = sessionOf(node.services, agent('ai:ann'));
    const hidden = await ann.run('memory_store', storing({ scope: 'private' }));
    const open = await ann.run('memory_store', storing({ title: 'open', scope: 'collective' }));
    queueFor(servers.db, String(hidden['id']), 'ai:eve');
    queueFor(servers.db, String(open['id']), 'ai:eve');
    await node.close();
    servers.open.pop();
    await servers.start(model);
    const done = await servers.state(String(hidden['id']), 'done');
    assert.deepEqual(JSON.parse(String(done['result'])), { skipped: 'the memory is gone' });
    await until('the other is refused', () => servers.job(String(open['id']))['error_code'] === 'FORBIDDEN');
    assert.ok(
      model.asked.every(({ prompt }) => prompt.includes('open')),
      'a text that the agent does not see is sent to no model',
    );
  });

  it('is tagged by one process of those on the database, and by another one when that ends', async () => {
    const first = await servers.start(model);
    await until('the first owns the database', () => first.owns());
    const second = await servers.start(model);
    const bob = sessionOf(second.services, agent('ai:bob'));
    const stored = await bob.run('memory_store', storing());
    await servers.state(String(stored['id']), 'done');
    assert.equal(second.owns(), false);
    model.mood = 'hang';
    const open = await bob.run('memory_store', storing({ title: 'second' }));
    await until('the first asks', () => model.asked.length === 2);
    await first.close();
    servers.open.shift();
    model.mood = 'fine';
    await servers.state(String(open['id']), 'done');
    assert.equal(second.owns(), true);
    assert.equal(model.asked.length, 3);
  });
});
