import assert from 'node:assert/strict';
import { type DaemonProcess, freePort, startDaemonProcess, temporaryFolder } from './daemon-process.js';
import { SECRET } from './webhook-receiver.js';

type Row = Record<string, unknown>;

export const OWNER = 'ai:owner';
export const OTHER = 'ai:other';

export interface Said {
  readonly status: number;
  readonly body: Row;
}

/** A daemon process that may send webhooks to this machine. */
export class WebhookDaemon {
  private constructor(
    public daemon: DaemonProcess,
    readonly port: number,
    readonly env: Record<string, string>,
  ) {}

  static async start(env: Record<string, string> = {}): Promise<WebhookDaemon> {
    const all = { SVC_ALLOW_LOOPBACK_WEBHOOKS: '1', ...env };
    const port = await freePort();
    return new WebhookDaemon(await startDaemonProcess(temporaryFolder('webhooks'), port, all), port, all);
  }

  async call(agent: string, method: string, path: string, body?: unknown): Promise<Said> {
    const response = await fetch(`${this.daemon.base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': agent },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Row };
  }

  async done(agent: string, method: string, path: string, body?: unknown): Promise<Row> {
    const said = await this.call(agent, method, path, body);
    assert.ok(said.status < 300, `${method} ${path}: ${said.status} ${JSON.stringify(said.body)}`);
    return said.body;
  }

  async store(title: string, more: Row = {}, agent = OWNER): Promise<string> {
    const said = await this.done(agent, 'POST', '/memories', {
      title,
      content: `words of ${title}`,
      ...more,
    });
    return String(said['id']);
  }

  /** Subscribes, and answers the id. */
  async subscribe(url: string, more: Row = {}, agent = OWNER): Promise<string> {
    return String((await this.done(agent, 'POST', '/subscriptions', { url, secret: SECRET, ...more }))['id']);
  }

  async subscription(id: string, agent = OWNER): Promise<Row> {
    const { subscriptions } = await this.done(agent, 'GET', '/subscriptions');
    const found = (subscriptions as Row[]).find((row) => row['id'] === id);
    assert.ok(found, `${agent} has the subscription ${id}`);
    return found;
  }

  async restart(signal: NodeJS.Signals): Promise<void> {
    await this.daemon.end(signal);
    this.daemon = await startDaemonProcess(this.daemon.home, this.port, this.env);
  }

  end(): Promise<unknown> {
    return this.daemon.end('SIGTERM');
  }
}
