import assert from 'node:assert/strict';
import { McpProcess, textOf } from '../../surface/mcp/mcp-process.js';
import type { ProcessNode } from './process-node.js';

export type Fields = Readonly<Record<string, unknown>>;

/** What one call came to: its value, or the code of its refusal. */
export interface Said {
  readonly value: Fields | null;
  readonly code: string | null;
  readonly text: string;
}

/** One call that moved an action, on the clock of this process. */
export interface LogLine {
  readonly action: string;
  readonly to: string;
  readonly token: number;
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** A lease that an agent has. */
export interface Held {
  readonly action: string;
  readonly token: number;
  readonly sentMs: number;
  readonly answeredMs: number;
}

export type MayDie = (agent: WorkingAgent, state: string) => boolean;
export type TookOver = (agent: WorkingAgent, held: Held) => Promise<void>;

/** What other agents, or news that are on their way, may refuse a lease or a claim with; the worker takes the next action. */
const TOLERATED = new Set([
  'LEASE_HELD',
  'ACTION_STATE_CHANGED',
  'ACTION_BLOCKED',
  'ILLEGAL_TRANSITION',
  'FORBIDDEN',
  'CONFLICT',
  'LEASE_LOST',
]);
const LEASE_SECS = 60;
/** Of the lease under which an agent dies. */
export const SHORT_LEASE_SECS = 1;
const IDLE_MS = 50;
const HANDSHAKE = {
  ...{ protocolVersion: '2024-11-05', capabilities: {} },
  clientInfo: { name: 'worker', version: '1' },
};

/** An agent that works through the actions of a namespace: an MCP process at a node, and its log. */
export class WorkingAgent {
  readonly log: LogLine[] = [];
  /** How often each refusal came. */
  readonly refusals = new Map<string, number>();
  /** The lease under which its process was to be killed, which may end before. */
  last: Held | null = null;
  died: Held | null = null;
  /** Actions of which it was refused since it last found nothing else. */
  private readonly refused = new Set<string>();
  private process: McpProcess | null = null;
  private calls = 0;

  constructor(
    readonly id: string,
    private readonly node: ProcessNode,
    private readonly namespace: string,
  ) {}

  async start(): Promise<void> {
    const { home, environment } = this.node;
    const env = { ...environment, SVC_AGENT_ID: this.id };
    this.process = new McpProcess({ home, args: ['--profile', 'full'], env });
    await this.process.request('hello', 'initialize', HANDSHAKE);
  }

  async call(tool: string, input: Fields): Promise<Said> {
    this.calls += 1;
    const answer = await this.process!.call(this.calls, tool, input);
    assert.ok(answer.result !== undefined, `${tool}: ${JSON.stringify(answer)}`);
    const text = textOf(answer);
    const body = JSON.parse(text) as Fields;
    if (answer.result['isError'] !== true) return { value: body, code: null, text };
    return { value: null, code: String(body['code']), text };
  }

  /** The answer of a call that must succeed. */
  async run(tool: string, input: Fields): Promise<Fields> {
    const { value, text } = await this.call(tool, input);
    assert.ok(value !== null, `${this.id}: ${tool} ${JSON.stringify(input)}: ${text}`);
    return value;
  }

  /**
   * Works until nothing is left on its node's board. `mayDie` says whether the process is killed when the next action is in
   * a state, and `tookOver` hears of an action that another agent began.
   */
  async work(mayDie: MayDie, tookOver: TookOver): Promise<void> {
    while (this.died === null) {
      const id = await this.next();
      const left = id === null ? await this.left() : null;
      if (id !== null) await this.doOne(id, mayDie);
      else if (left === null) return;
      else if (!(await this.takeOver(left, tookOver))) await pause();
    }
  }

  /** The first action that is offered; after refusals, the first of which it was not refused. */
  private async next(): Promise<string | null> {
    const { namespace } = this;
    const { action } = await this.run('memory_action_next', { namespace });
    const first = action === null ? null : String((action as Fields)['id']);
    if (first === null || !this.refused.has(first)) return first;
    const { actions } = await this.run('memory_action_frontier', { namespace, limit: 50 });
    const others = (actions as readonly Fields[]).map(({ id }) => String(id));
    const other = others.find((id) => !this.refused.has(id));
    if (other !== undefined) return other;
    this.refused.clear();
    await pause();
    return first;
  }

  /** Actions that somebody works on; null when no action is left at all. */
  private async left(): Promise<readonly Fields[] | null> {
    const boards: (readonly Fields[])[] = [];
    // One after the other: the process under test wakes one waiting call at a time.
    for (const state of ['pending', 'claimed', 'in_progress']) {
      const listed = await this.run('memory_action_list', { namespace: this.namespace, state });
      boards.push(listed['actions'] as readonly Fields[]);
    }
    return boards.flat().length === 0 ? null : boards[2]!;
  }

  private async doOne(id: string, mayDie: MayDie): Promise<void> {
    const isLast = mayDie(this, 'pending');
    const held = await this.acquire(id, isLast ? SHORT_LEASE_SECS : LEASE_SECS);
    if (held === null) return;
    if (isLast) this.last = held;
    for (const to of ['claimed', 'in_progress', 'done']) {
      // Until a claim, other agents and news that are on their way may come between; with a lease that ends soon, always.
      if (!(await this.move(held, to, to === 'claimed' || isLast))) {
        const lease = { action_id: id, holder: this.id, fencing_token: held.token };
        await this.run('memory_lease_release', lease);
        return;
      }
      if (mayDie(this, to)) return this.die();
    }
  }

  /** Ends what an agent left behind that is gone; false while all leases are held. */
  private async takeOver(begun: readonly Fields[], tookOver: TookOver): Promise<boolean> {
    for (const { id, claimed_by } of begun) {
      if (claimed_by === this.id) continue;
      const held = await this.acquire(String(id), LEASE_SECS);
      if (held === null) continue;
      await tookOver(this, held);
      return this.move(held, 'done', false);
    }
    return false;
  }

  /** Null where another agent was faster. */
  private async acquire(action: string, ttlSecs: number): Promise<Held | null> {
    const sentMs = performance.now();
    const asked = { action_id: action, holder: this.id, ttl_secs: ttlSecs };
    const said = await this.call('memory_lease_acquire', asked);
    if (said.value === null) return this.tolerate(action, said, true);
    const { fencing_token: token } = said.value['lease'] as { fencing_token: number };
    return { action, token, sentMs, answeredMs: performance.now() };
  }

  private async move({ action, token }: Held, to: string, isTolerant: boolean): Promise<boolean> {
    const sentMs = performance.now();
    const asked = { id: action, to, claimed_by: this.id, fencing_token: token };
    const said = await this.call('memory_action_transition', asked);
    if (said.value === null) return this.tolerate(action, said, isTolerant) !== null;
    this.log.push({ action, to, token, sentMs, answeredMs: performance.now() });
    return true;
  }

  private tolerate(action: string, { code, text }: Said, isTolerant: boolean): null {
    assert.ok(isTolerant && TOLERATED.has(code!), `${this.id}: ${text}`);
    this.refusals.set(code!, (this.refusals.get(code!) ?? 0) + 1);
    this.refused.add(action);
    return null;
  }

  private async die(): Promise<void> {
    this.died = this.last;
    this.process!.child.kill('SIGKILL');
    assert.equal(await this.process!.ended, 'SIGKILL');
  }

  async end(): Promise<void> {
    assert.equal(await this.process?.end(), 0);
  }

  /** Ends what still runs, whatever the test came to. */
  close(): void {
    this.process?.child.kill('SIGKILL');
  }
}

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, IDLE_MS));
