import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Connection } from '../../storage/sql/connection.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { ModelServer } from '../support/model-server.js';
import { openBeside } from '../support/test-store.js';
import { until } from '../support/wait.js';

const TEXT =
  'The deploy window is on Sundays, from two to four in the morning, and nobody else may deploy then.';
const DONE_WITHIN_MS = 60_000;

interface Row {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly interruptions: number;
}

/** A daemon that tags what it stores, killed again and again, and its database beside it. */
class TaggingDaemon {
  readonly stored: string[] = [];

  private constructor(
    private daemon: DaemonProcess,
    private readonly port: number,
    private readonly env: Record<string, string>,
    readonly path: string,
    readonly db: Connection,
  ) {}

  static async start(model: ModelServer): Promise<TaggingDaemon> {
    const home = temporaryFolder('job-kill');
    const env = { ...model.environment, SVC_AUTONOMOUS_HOOKS: '1' };
    const port = await freePort();
    const daemon = await startDaemonProcess(home, port, env);
    const path = join(home, 'mnemesh.db');
    return new TaggingDaemon(daemon, port, env, path, openBeside({ path }));
  }

  async store(): Promise<void> {
    const response = await fetch(`${this.daemon.base}/memories`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:deployer' },
      body: JSON.stringify({ title: `window ${this.stored.length}`, content: TEXT }),
    });
    const said = (await response.json()) as { id: string };
    assert.equal(response.status, 201, JSON.stringify(said));
    this.stored.push(said.id);
  }

  async killed(): Promise<void> {
    await this.daemon.end('SIGKILL');
    this.daemon = await startDaemonProcess(this.daemon.home, this.port, this.env);
  }

  jobs(): readonly Row[] {
    return this.db
      .prepare('SELECT id, state, attempts, interruptions FROM jobs ORDER BY created_at')
      .all() as Row[];
  }

  tagsOf(id: string): readonly string[] | undefined {
    const row = this.db.prepare('SELECT metadata, version FROM memories WHERE id = ?').get(id) as {
      metadata: string;
    };
    return (JSON.parse(row.metadata) as { auto_tags?: readonly string[] }).auto_tags;
  }

  /** Refuses a change of a row, so that the daemon stands still before it. */
  block(name: string, table: string, when: string): void {
    this.db.exec(
      `CREATE TRIGGER ${name} BEFORE UPDATE ON ${table} WHEN ${when} BEGIN SELECT RAISE(ABORT, 'blocked by the test'); END`,
    );
  }

  unblock(name: string): void {
    this.db.exec(`DROP TRIGGER ${name}`);
  }

  async end(): Promise<void> {
    this.db.close();
    await this.daemon.end('SIGTERM');
  }
}

/** Nothing was lost, and nothing done twice: each memory was changed once, by one answer of the model. */
async function allDoneOnce(node: TaggingDaemon): Promise<void> {
  const states = () => node.jobs().map(({ state }) => state);
  await until('every job is done', () => states().every((state) => state === 'done'), {
    withinMs: DONE_WITHIN_MS,
    seen: () => JSON.stringify(node.jobs()),
  });
  assert.equal(node.jobs().length, node.stored.length);
  for (const id of node.stored) {
    assert.equal(node.tagsOf(id)?.length, 1, `tags of ${id}`);
    const { version } = node.db.prepare('SELECT version FROM memories WHERE id = ?').get(id) as {
      version: number;
    };
    const written = node.db
      .prepare("SELECT count(*) FROM operations WHERE subject = ? AND kind <> 'life'")
      .pluck()
      .get(id);
    assert.deepEqual([version, written], [2, 2], `${id} is stored once and tagged once`);
  }
  assert.ok(
    node.jobs().every(({ attempts }) => attempts === 0),
    JSON.stringify(node.jobs()),
  );
}

describe('SIGKILL while a job tags a memory', { timeout: 240_000 }, () => {
  it('loses no job and does none twice, whatever step it comes before', async () => {
    const model = await ModelServer.start();
    let answers = 0;
    model.says = () => {
      answers += 1;
      return `answer ${answers}`;
    };
    const node = await TaggingDaemon.start(model);
    const asked = (count: number) => until('the model is asked', () => model.asked.length >= count);
    try {
      // Enqueued: at once after the answer of the store.
      await node.store();
      await node.killed();
      await allDoneOnce(node);

      // Running: the model has the question and does not answer.
      model.mood = 'hang';
      const before = model.asked.length;
      await node.store();
      await asked(before + 1);
      assert.deepEqual(node.jobs().at(-1)!.state, 'running');
      model.mood = 'fine';
      await node.killed();
      await allDoneOnce(node);
      assert.equal(node.jobs().at(-1)!.interruptions, 1);

      // The model has answered: what it said may be kept, or not.
      await node.store();
      const next = answers;
      await until('the model answers', () => answers > next, { everyMs: 1 });
      await node.killed();
      await allDoneOnce(node);

      // What it said is kept, and the tags are not stored.
      node.block('no_tags', 'memories', "new.metadata LIKE '%auto_tags%'");
      const kept = answers;
      await node.store();
      const steps = () =>
        node.db.prepare('SELECT steps FROM jobs ORDER BY created_at DESC LIMIT 1').pluck().get() as string;
      await until('the answer is kept', () => steps() !== '{}', { everyMs: 1 });
      await node.killed();
      node.db.exec("UPDATE jobs SET attempts = 0, due_at = created_at WHERE state = 'queued'");
      node.unblock('no_tags');
      await allDoneOnce(node);
      assert.equal(answers, kept + 1, 'the model is not asked again');
      assert.deepEqual(node.tagsOf(node.stored.at(-1)!), [`answer ${answers}`]);

      // The tags are stored, and the job is not marked as done.
      node.block('not_done', 'jobs', "new.state = 'done'");
      const stored = answers;
      await node.store();
      await until('the tags are stored', () => node.tagsOf(node.stored.at(-1)!) !== undefined, {
        everyMs: 1,
      });
      await node.killed();
      node.unblock('not_done');
      await allDoneOnce(node);
      assert.equal(answers, stored + 1, 'the model is not asked again');

      // The job is done.
      await node.store();
      await until('the job is done', () => node.jobs().at(-1)!.state === 'done', { everyMs: 1 });
      await node.killed();
      await allDoneOnce(node);
      assert.deepEqual(auditLog(node.path), []);
    } finally {
      await node.end();
      await model.close();
    }
  });
});
