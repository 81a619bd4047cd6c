import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../../support/daemon-process.js';
import { type Finished, run } from '../cli/cli-process.js';
import { McpProcess, textOf } from '../mcp/mcp-process.js';

export type Row = Record<string, unknown>;

export interface Reply {
  readonly status: number;
  readonly body: Row;
}

/** A daemon with policies, and the calls of agents on all surfaces. */
export class GovernedDaemon {
  private constructor(readonly daemon: RunningDaemon) {}

  static async start(
    name: string,
    { config = '', env = {} }: { readonly config?: string; readonly env?: Record<string, string> } = {},
  ): Promise<GovernedDaemon> {
    const home = temporaryFolder(name);
    if (config !== '') writeFileSync(join(home, 'config.toml'), config, { mode: 0o600 });
    return new GovernedDaemon(await startDaemonHere(home, await freePort(), env));
  }

  end = () => this.daemon.end('SIGTERM');

  async call(agent: string, method: string, path: string, body?: unknown): Promise<Reply> {
    const response = await fetch(`${this.daemon.base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': agent },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Row };
  }

  async register(...agents: readonly string[]): Promise<void> {
    for (const agent of agents) {
      const registered = await this.call(agent, 'POST', '/agents', {
        agent_id: agent,
        agent_type: 'ai:test',
      });
      assert.equal(registered.status, 201, JSON.stringify(registered));
    }
  }

  /** Sets a policy as the operator. */
  async govern(namespace: string, governance: Row): Promise<void> {
    const policy = JSON.stringify(governance);
    const set = await this.cli([
      'namespace',
      'set-standard',
      '--namespace',
      namespace,
      '--governance',
      policy,
    ]);
    assert.equal(set.code, 0, set.err);
  }

  store(agent: string, namespace: string, title: string, more: Row = {}): Promise<Reply> {
    return this.call(agent, 'POST', '/memories', { namespace, title, content: `words of ${title}`, ...more });
  }

  /** Stores a memory and answers its id. */
  async stored(agent: string, namespace: string, title: string, more: Row = {}): Promise<string> {
    const { status, body } = await this.store(agent, namespace, title, more);
    assert.ok(status < 300 && typeof body['id'] === 'string', JSON.stringify(body));
    return body['id'] as string;
  }

  approve(agent: string, id: unknown, remember = 'once'): Promise<Reply> {
    return this.call(agent, 'POST', `/pending/${id}/approve`, { remember });
  }

  /** The memory as the agent sees it; null when it does not. */
  async memory(agent: string, id: unknown): Promise<Row | null> {
    const { status, body } = await this.call(agent, 'GET', `/memories/${id}`);
    return status === 200 ? ((body['memory'] ?? body) as Row) : null;
  }

  async memories(agent: string, namespace: string): Promise<readonly Row[]> {
    const { body } = await this.call(agent, 'GET', `/memories?namespace=${namespace}&limit=100`);
    return body['memories'] as Row[];
  }

  cli(args: readonly string[], env: Record<string, string> = {}): Promise<Finished> {
    return run(this.daemon.home, [...args], { env });
  }

  /** What a command answers as JSON, as an agent. */
  async told(agent: string, args: readonly string[]): Promise<Row> {
    const { out, err } = await this.cli([...args, '--agent-id', agent, '--json']);
    assert.notEqual(out, '', err);
    return JSON.parse(out) as Row;
  }

  /** Runs tools of an MCP server that is bound to an agent; what it answers is JSON. */
  async tools<T>(
    agent: string,
    use: (tool: (name: string, input: Row) => Promise<Row>) => Promise<T>,
  ): Promise<T> {
    const mcp = new McpProcess({
      home: this.daemon.home,
      args: ['--profile', 'full'],
      env: { SVC_AGENT_ID: agent },
    });
    let calls = 0;
    try {
      await mcp.request('init', 'initialize', {
        protocolVersion: '2024-11-05',
        capabilities: {},
        clientInfo: { name: 'governed', version: '1' },
      });
      return await use(async (name, input) => {
        calls += 1;
        return JSON.parse(textOf(await mcp.call(calls, name, input))) as Row;
      });
    } finally {
      await mcp.end();
    }
  }
}
