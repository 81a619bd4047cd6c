import { createConnection } from 'node:net';
import type { SettingFlags } from '../../../node/config/load-settings.js';
import { createHttpSurface, type HttpSurface, type HttpSurfaceOptions } from '../../../node/http/server.js';
import { Metrics } from '../../../node/observability/metrics.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import type { Services } from '../../../node/pipeline/call.js';
import { openTestNode } from '../../support/test-node.js';
import { untilAnswer, within } from '../../support/wait.js';

/** What a request came back with. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON, or null. */
  readonly json: Record<string, unknown> | null;
}

/** Floods of raw requests take a while. */
const RAW_WITHIN_MS = 60_000;

export interface HttpNode {
  readonly services: Services;
  readonly surface: HttpSurface;
  readonly metrics: Metrics;
  readonly port: number;
  /** Sends a request; an object body is sent as JSON. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Writes bytes on a new connection and reads until the node ends it. */
  raw(...parts: readonly (string | Buffer)[]): Promise<string>;
  /** Rows and operations of the database, to see that a refusal changed nothing. */
  counts(): Promise<{ rows: number; operations: number }>;
  close(): Promise<void>;
}

export type NodeOptions = Partial<Omit<HttpSurfaceOptions, 'services' | 'metrics'>> & {
  readonly wrap?: (services: Services) => Services;
};

/** A node in memory that listens on a free port of 127.0.0.1; unsigned writes are permitted unless told otherwise. */
export async function openHttpNode(
  settings: SettingFlags = {},
  options: NodeOptions = {},
): Promise<HttpNode> {
  const node = await openTestNode({ requireAttestation: false, ...settings });
  const { wrap, ...rest } = options;
  const services = wrap === undefined ? node.services : wrap(node.services);
  const metrics = new Metrics();
  const surface = createHttpSurface({ operations: OPERATIONS, ...rest, services, metrics });
  const { port } = await surface.listen('127.0.0.1', 0);
  return {
    services,
    surface,
    metrics,
    port,
    async send(method, path, body, headers = {}) {
      const isText = typeof body === 'string' || body instanceof Uint8Array;
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: isText ? (body as string) : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: parse(text) };
    },
    raw: (...parts) => {
      let received = '';
      const ended = new Promise<string>((resolve, reject) => {
        const socket = createConnection({ host: '127.0.0.1', port, allowHalfOpen: true });
        socket.setEncoding('utf8');
        socket.on('data', (chunk: string) => {
          received += chunk;
        });
        socket.on('end', () => {
          socket.end();
          resolve(received);
        });
        socket.on('error', (error: NodeJS.ErrnoException) => {
          // The node may end a connection while we still write; what it answered counts.
          if (received !== '') resolve(received);
          else reject(error);
        });
        for (const part of parts) socket.write(part);
      });
      return within('the node ends the connection', ended, { withinMs: RAW_WITHIN_MS, seen: () => received });
    },
    async counts() {
      const stats = await services.store.query({
        kind: 'store-stats',
        viewer: { all: true, agentId: null, asNamespace: null },
        now: '2000-01-01T00:00:00.000Z',
      });
      const log = await services.store.query({ kind: 'log-position' });
      if (!stats.ok || !log.ok) throw new Error('the store does not answer');
      return { rows: stats.value.total, operations: log.value.originSeq };
    },
    async close() {
      await surface.close();
      await node.close();
    },
  };
}

/** Waits until a node says that so many requests are under way, the question itself among them. */
export const untilInflight = (node: Pick<HttpNode, 'send'>, count: number) =>
  untilAnswer(
    `${count} requests are under way`,
    async () => (await node.send('GET', '/metrics')).text,
    (metrics) => metrics.includes(`svc_requests_inflight ${count}\n`),
  );

function parse(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
