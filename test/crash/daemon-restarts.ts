import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Dice } from '../sim/dice.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { underSeed } from '../support/seed.js';
import { openBeside } from '../support/test-store.js';
import { until } from '../support/wait.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';

const AGENTS = 4;
/** How often an agent asks who commits its writes, and how often it changes or deletes one of its rows. */
const ASKS = 0.2;
const UPDATES = 0.25;
const DELETES = 0.1;
/** One in so many ends is in good order. */
const IN_ORDER = 0.3;

/** What a call may be answered when the daemon ends: not taken, or taken with an unknown outcome. */
const RETRIABLE = 'OVERLOADED';
const UNKNOWN = 'ACTOR_RESTARTED';

interface Row {
  readonly id: string;
  /** Contents that the row may have; several after a change whose outcome is unknown. */
  contents: readonly string[];
  /** `unknown` after a delete whose outcome is. */
  present: boolean | 'unknown';
}

export interface RestartReport {
  readonly kills: number;
  readonly ends: number;
  readonly stored: number;
  /** Updates and deletes whose outcome was not told. */
  unknown: number;
  overloaded: number;
  /** Calls that said whether the daemon or their own process ran them. */
  readonly through: { daemon: number; process: number };
}

type Body = Record<string, unknown> & { readonly code?: string };

/** An agent with its MCP server, which works through a daemon or by itself, as it comes. */
class Agent {
  readonly rows = new Map<string, Row>();
  private readonly mcp: McpProcess;
  private readonly dice: Dice;
  private calls = 0;
  private made = 0;

  constructor(
    private readonly name: string,
    home: string,
    seed: number,
    private readonly report: RestartReport,
  ) {
    this.mcp = new McpProcess({ home, args: ['--profile', 'full'] });
    this.dice = new Dice(seed, name);
  }

  async open(): Promise<void> {
    const clientInfo = { name: this.name, version: '1' };
    await this.mcp.request('open', 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo,
    });
    this.mcp.send({ method: 'notifications/initialized' });
  }

  hangUp(): void {
    this.mcp.child.stdin.end();
  }

  /** The server ends in good order. */
  async close(): Promise<void> {
    assert.equal(await this.mcp.ended, 0, this.mcp.errors);
  }

  async step(): Promise<void> {
    await this.store();
    const rows = [...this.rows.values()].filter(({ present }) => present === true);
    if (rows.length > 0 && this.dice.chance(UPDATES)) await this.update(this.dice.pick(rows));
    else if (rows.length > 0 && this.dice.chance(DELETES)) await this.remove(this.dice.pick(rows));
    if (!this.dice.chance(ASKS)) return;
    const asked = await this.call('memory_capabilities', { accept: 'v3' });
    if (asked.code !== undefined) return;
    const through = asked['writes_through'] as 'daemon' | 'process';
    this.report.through[through] += 1;
  }

  private async store(): Promise<void> {
    this.made += 1;
    const title = `${this.name} ${this.made}`;
    const answer = await this.call('memory_store', { title, content: `of ${title}` });
    assert.notEqual(answer.code, UNKNOWN, 'a store is run again, so its outcome is known');
    if (answer.code !== undefined) return;
    this.rows.set(title, { id: String(answer['id']), contents: [`of ${title}`], present: true });
  }

  private async update(row: Row): Promise<void> {
    const content = `change ${this.calls}`;
    const { code } = await this.call('memory_update', { id: row.id, content });
    if (code === UNKNOWN) row.contents = [...row.contents, content];
    else if (code === undefined) row.contents = [content];
  }

  private async remove(row: Row): Promise<void> {
    const { code } = await this.call('memory_delete', { id: row.id });
    if (code === UNKNOWN) row.present = 'unknown';
    else if (code === undefined) row.present = false;
  }

  private async call(name: string, args: Record<string, unknown>): Promise<Body> {
    this.calls += 1;
    const message = await this.mcp.call(this.calls, name, args);
    assert.ok(message.result !== undefined, `${name}: ${JSON.stringify(message.error)}\n${this.mcp.errors}`);
    const body = JSON.parse(textOf(message)) as Body;
    if (body.code === RETRIABLE) this.report.overloaded += 1;
    else if (body.code === UNKNOWN) this.report.unknown += 1;
    else assert.equal(body.code, undefined, `${name}: ${JSON.stringify(body)}\n${this.mcp.errors}`);
    return body;
  }
}

/**
 * Four agents write over MCP beside a daemon that is ended again and again, mostly with SIGKILL, and is away for a
 * moment each time. Each acknowledged row must be there exactly once, and be what its last acknowledged change made it.
 */
export const daemonRestarts = (restarts: number): Promise<RestartReport> =>
  underSeed((seed) => restartsUnder(seed, restarts));

async function restartsUnder(seed: number, restarts: number): Promise<RestartReport> {
  const home = temporaryFolder('restarts');
  const report = {
    ...{ kills: 0, ends: 0, stored: 0, unknown: 0, overloaded: 0 },
    through: { daemon: 0, process: 0 },
  };
  const agents = Array.from({ length: AGENTS }, (_, n) => new Agent(`agent ${n}`, home, seed, report));
  await Promise.all(agents.map((agent) => agent.open()));
  let running = true;
  const work = Promise.all(
    agents.map(async (agent) => {
      for (; running; ) await agent.step();
    }),
  );
  const dice = new Dice(seed, 'daemon');
  const restarting = async () => {
    for (let restart = 0; running && restart < restarts; restart += 1) {
      const daemon = await startDaemonProcess(home, await freePort());
      await pause(dice.between(100, 900));
      // Agents look for a daemon now and then, and each of the others may have been too short for that.
      if (restart === restarts - 1 && running)
        await until('an agent writes through the daemon', () => report.through.daemon > 0 || !running, {
          withinMs: 30_000,
        });
      if (dice.chance(IN_ORDER)) {
        report.ends += 1;
        assert.equal(await daemon.end('SIGTERM'), 0, daemon.errors());
      } else {
        report.kills += 1;
        await daemon.end('SIGKILL');
      }
      await pause(dice.between(0, 600));
    }
  };
  const restarted = restarting();
  try {
    await Promise.race([restarted, work]);
  } finally {
    running = false;
    await Promise.allSettled([restarted, work]);
    for (const agent of agents) agent.hangUp();
  }
  await work;
  await Promise.all(agents.map((agent) => agent.close()));
  const path = join(home, 'mnemesh.db');
  for (const agent of agents) verify(path, agent);
  assert.deepEqual(auditLog(path), []);
  return { ...report, stored: agents.reduce((sum, { rows }) => sum + rows.size, 0) };
}

function verify(path: string, { rows }: Agent): void {
  const db = openBeside({ path });
  try {
    const find = db.prepare<[string], { id: string; content: string }>(
      'SELECT id, content FROM memories WHERE title = ?',
    );
    for (const [title, { id, contents, present }] of rows) {
      const found = find.all(title);
      if (present === false) assert.deepEqual(found, [], `${title} was deleted`);
      else if (present === true) assert.equal(found.length, 1, `${title} is there ${found.length} times`);
      for (const row of found) {
        assert.equal(row.id, id, title);
        assert.ok(contents.includes(row.content), `${title} is ${row.content}, not ${contents.join(' or ')}`);
      }
    }
    const doubled = db.prepare('SELECT title FROM memories GROUP BY title HAVING count(*) > 1').pluck().all();
    assert.deepEqual(doubled, []);
  } finally {
    db.close();
  }
}

const pause = (ms: number) => new Promise<void>((resume) => setTimeout(resume, ms));
