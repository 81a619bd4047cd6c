import assert from 'node:assert/strict';
import { startDaemonHere } from './daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from './daemon-process.js';

export const REQUESTER = 'ai:coder';
export const APPROVER = 'ai:lead';
export const ADMIN = 'human:admin';
/** A namespace whose stores wait for an approval. */
export const ASK = 'ask';

type Row = Record<string, unknown>;
type StartDaemon = (home: string, port: number, extra: Record<string, string>) => Promise<RunningDaemon>;

export interface Reply {
  readonly status: number;
  readonly body: Row;
}

/** A daemon with a namespace in which an approver decides what a requester stores. */
export class GovernedDaemon {
  private constructor(
    public daemon: RunningDaemon,
    readonly port: number,
    private readonly env: Record<string, string>,
    private readonly startDaemon: StartDaemon,
  ) {}

  /** `startDaemon`: how it starts; in this process unless a test kills it. */
  static async start(
    env: Record<string, string> = {},
    startDaemon: StartDaemon = startDaemonHere,
  ): Promise<GovernedDaemon> {
    const all = { SVC_ADMIN_AGENT_IDS: ADMIN, SVC_ADMIN_HEADER_TRUST: '1', ...env };
    const port = await freePort();
    const daemon = await startDaemon(temporaryFolder('governed'), port, all);
    const node = new GovernedDaemon(daemon, port, all, startDaemon);
    for (const agent of [REQUESTER, APPROVER]) {
      const { status } = await node.call(agent, 'POST', '/agents', {
        agent_id: agent,
        agent_type: 'ai:test',
      });
      assert.ok(status < 300);
    }
    const governance = { write: 'approve', approver: 'human' };
    const set = await node.call('ai:owner', 'POST', `/namespaces/${ASK}/standard`, { governance });
    assert.equal(set.status, 201, JSON.stringify(set.body));
    return node;
  }

  get base(): string {
    return this.daemon.base;
  }

  async restart(signal: NodeJS.Signals): Promise<void> {
    await this.daemon.end(signal);
    this.daemon = await this.startDaemon(this.daemon.home, this.port, this.env);
  }

  async call(
    agent: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const response = await fetch(`${this.base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': agent, ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Row };
  }

  /** Requests a store that waits, and answers its pending id. */
  async request(title: string, agent = REQUESTER, namespace = ASK): Promise<string> {
    const stored = { namespace, title, content: `words of ${title}` };
    const { status, body } = await this.call(agent, 'POST', '/memories', stored);
    assert.equal(status, 202, JSON.stringify(body));
    return String(body['pending_id']);
  }

  async decide(id: string, how: 'approve' | 'reject', agent = APPROVER): Promise<void> {
    const { status, body } = await this.call(agent, 'POST', `/pending/${id}/${how}`);
    assert.equal(status, 200, JSON.stringify(body));
  }

  end(): Promise<unknown> {
    return this.daemon.end('SIGTERM');
  }
}
