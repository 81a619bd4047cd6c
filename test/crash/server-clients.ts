import { until } from '../support/wait.js';

type Fields = Record<string, unknown>;

/** What a daemon answered; null where it broke off or was not there, so the outcome is unknown. */
interface Reply {
  readonly status: number;
  readonly body: Fields;
  readonly tag: string | null;
}

/** How long a call took that was refused because storage could not be used. */
export const refusedMs: number[] = [];

const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};

/** How often an agent may store in a namespace on a day. */
export const QUOTA = 15;
/** Stores in one namespace of a client, which stay below its quota. */
const STORES_IN_A_NAMESPACE = 10;

/** What the clients were told, all together. */
export class Told {
  /** Ids of memories whose store was acknowledged. */
  readonly stored: string[] = [];
  /** Stores by the agent whose quota all spend, by namespace. */
  readonly spent = new Map<string, number>();
  /** Who got a title that all want. */
  readonly titles = new Map<string, string[]>();
  /** Changes of the counter that were acknowledged, and those whose outcome is unknown. */
  readonly counted = { done: 0, unknown: 0 };
  /** Holders of the lease, by their token. */
  readonly leases = new Map<number, string>();
  /** Who holds the lease now, as far as anybody was told. */
  holding: string | null = null;
  readonly wrong: string[] = [];
  calls = 0;
}

/** An agent that writes to one daemon after the other, as they answer. */
export class Client {
  private turn: number;
  private made = 0;
  private sessions = new Map<string, string>();
  private stopped = false;
  private readonly agent: string;

  constructor(
    private readonly number: number,
    private readonly bases: () => readonly string[],
    private readonly shared: { readonly counter: string; readonly action: string; round: number },
    private readonly told: Told,
  ) {
    this.turn = number;
    this.agent = `ai:c${number}`;
  }

  async work(): Promise<void> {
    while (!this.stopped) {
      await this.store();
      await this.spend();
      await this.takeTitle();
      await this.count();
      await this.lease();
      await this.forget();
    }
  }

  stop(): void {
    this.stopped = true;
  }

  private async store(): Promise<void> {
    this.made += 1;
    const namespace = `bulk/c${this.number}/${Math.floor(this.made / STORES_IN_A_NAMESPACE)}`;
    const fields = { title: `c${this.number} ${this.made}`, content: `words of ${this.made}`, namespace };
    const reply = await this.send('POST', '/memories', fields);
    if (reply?.status === 201) this.told.stored.push(String(reply.body['id']));
    else this.expect(reply, [503]);
  }

  /** All clients together spend one quota. */
  private async spend(): Promise<void> {
    const namespace = `quota/${this.shared.round}`;
    this.made += 1;
    const fields = { title: `of c${this.number} ${this.made}`, content: 'spends', namespace };
    const reply = await this.send('POST', '/memories', fields, { 'x-agent-id': 'ai:shared' });
    if (reply?.status !== 201) {
      this.expect(reply, [429, 503]);
      return;
    }
    this.told.stored.push(String(reply.body['id']));
    this.told.spent.set(namespace, (this.told.spent.get(namespace) ?? 0) + 1);
  }

  private async takeTitle(): Promise<void> {
    const title = `slot ${this.shared.round}.${this.told.titles.size % 50}`;
    const fields = { title, content: `by ${this.agent}`, namespace: 'slots', on_conflict: 'error' };
    const reply = await this.send('POST', '/memories', fields);
    const takers = this.told.titles.get(title) ?? [];
    this.told.titles.set(title, takers);
    if (reply?.status === 201) takers.push(this.agent);
    else this.expect(reply, [409, 503, 429]);
  }

  /** Adds one to a number that all clients change, if it is still what was read. */
  private async count(): Promise<void> {
    const path = `/memories/${this.shared.counter}`;
    const read = await this.send('GET', path, null);
    if (read?.status !== 200) {
      this.expect(read, [503]);
      return;
    }
    const memory = (read.body['memory'] ?? read.body) as Fields;
    const content = String(Number(memory['content']) + 1);
    const reply = await this.send(
      'PUT',
      path,
      { content },
      { 'x-agent-id': 'ai:shared', 'if-match': read.tag! },
    );
    if (reply?.status === 200) this.told.counted.done += 1;
    else if (reply === null || reply.body['code'] === 'ACTOR_RESTARTED') this.told.counted.unknown += 1;
    else this.expect(reply, [412, 409, 503]);
  }

  private async lease(): Promise<void> {
    const { action } = this.shared;
    const own = { action_id: action, holder: this.agent };
    const got = await this.tool('memory_lease_acquire', { ...own, ttl_secs: 3600 });
    const lease = got?.['lease'] as Fields | undefined;
    if (lease === undefined) {
      // It may have got one whose answer was lost.
      await this.tool('memory_lease_release', own);
      return;
    }
    const token = Number(lease['fencing_token']);
    const { leases, holding, wrong } = this.told;
    if (holding !== null) wrong.push(`${this.agent} got the lease that ${holding} holds`);
    if ((leases.get(token) ?? this.agent) !== this.agent) wrong.push(`two clients got the token ${token}`);
    leases.set(token, this.agent);
    this.told.holding = this.agent;
    await new Promise((resolve) => setTimeout(resolve, 20));
    this.told.holding = null;
    // It is given back for certain, so that the next one may have it.
    await until(
      'the lease is given back',
      async () =>
        this.stopped || (await this.tool('memory_lease_release', { ...own, fencing_token: token })) !== null,
      { withinMs: 60_000 },
    );
  }

  /** Leaves a record in the audit chain. */
  private async forget(): Promise<void> {
    const namespace = `scratch/c${this.number}`;
    const admin = { 'x-agent-id': 'ai:admin' };
    await this.send('POST', '/memories', { title: 'to forget', content: 'soon', namespace }, admin);
    const reply = await this.send('POST', '/forget', { namespace }, admin);
    this.expect(reply, [200, 503]);
  }

  /** Calls a tool over MCP, in a session of the daemon; null where it failed. */
  private async tool(name: string, args: Fields): Promise<Fields | null> {
    const base = this.base();
    const url = `${base.replace('/api/v1', '/mcp')}?profile=full`;
    const session = this.sessions.get(base) ?? (await this.open(url));
    if (session === null) return null;
    this.sessions.set(base, session);
    const call = { jsonrpc: '2.0', id: this.made, method: 'tools/call', params: { name, arguments: args } };
    const response = await this.fetch(url, 'POST', call, { ...ACCEPT, 'mcp-session-id': session });
    const message = response === null ? null : messageOf(response.text);
    const result = message?.['result'] as Fields | undefined;
    if (result === undefined) {
      this.sessions.delete(base);
      return null;
    }
    const [{ text }] = result['content'] as [{ text: string }];
    return result['isError'] === true ? null : (JSON.parse(text) as Fields);
  }

  private async open(url: string): Promise<string | null> {
    const opened = await this.fetch(url, 'POST', INITIALIZE, ACCEPT);
    return opened?.headers.get('mcp-session-id') ?? null;
  }

  private base(): string {
    this.turn += 1;
    const bases = this.bases();
    return bases[this.turn % bases.length]!;
  }

  private async send(
    method: string,
    path: string,
    fields: Fields | null,
    headers: Record<string, string> = {},
  ): Promise<Reply | null> {
    const response = await this.fetch(`${this.base()}${path}`, method, fields, headers);
    if (response === null) return null;
    const body = response.text === '' ? {} : (JSON.parse(response.text) as Fields);
    return { status: response.status, body, tag: response.headers.get('etag') };
  }

  private async fetch(url: string, method: string, fields: Fields | null, headers: Record<string, string>) {
    this.told.calls += 1;
    const beganMs = performance.now();
    try {
      const response = await fetch(url, {
        method,
        headers: { 'content-type': 'application/json', 'x-agent-id': this.agent, ...headers },
        ...(fields === null ? {} : { body: JSON.stringify(fields) }),
      });
      const text = await response.text();
      if (response.status === 503) refusedMs.push(performance.now() - beganMs);
      // Where storage rests, so does the client.
      if (response.status === 503) await new Promise((resolve) => setTimeout(resolve, 20));
      return { status: response.status, headers: response.headers, text };
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return null;
    }
  }

  private expect(reply: Reply | null, allowed: readonly number[]): void {
    if (reply === null || allowed.includes(reply.status)) return;
    this.told.wrong.push(`${reply.status} ${JSON.stringify(reply.body)}`);
  }
}

/** The answer in a body of JSON, or in the last event of a stream. */
function messageOf(text: string): Fields | null {
  const data = text.startsWith('{') ? [text] : [...text.matchAll(/^data: (.+)$/gm)].map((match) => match[1]!);
  const last = data.at(-1);
  return last === undefined ? null : (JSON.parse(last) as Fields);
}
