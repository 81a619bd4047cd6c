import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { event } from './wait.js';

export interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface SentMetric {
  readonly name: string;
  readonly kind: 'sum' | 'gauge' | 'histogram';
  readonly monotonic: boolean;
  readonly points: readonly {
    readonly attributes: Readonly<Record<string, unknown>>;
    readonly asDouble?: number;
    readonly count?: number;
    readonly sum?: number;
    readonly bucketCounts?: readonly number[];
    readonly explicitBounds?: readonly number[];
  }[];
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const plain = (attributes: readonly Attribute[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** A collector of OpenTelemetry on loopback, which keeps and parses what it is sent. */
export class TestCollector {
  readonly bodies: string[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly spans: SentSpan[] = [];
  readonly resources: Readonly<Record<string, unknown>>[] = [];
  /** The metrics of the last message. */
  metrics: SentMetric[] = [];
  /** What it does with a message; takes it unless a test says otherwise. */
  answer: (response: ServerResponse) => void = (response) => response.writeHead(200).end('{}');
  #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      this.bodies.push(text);
      this.headers.push(request.headers);
      this.#take(request.url ?? '', JSON.parse(text));
      this.answer(response);
    });
  });

  async listen(port = 0): Promise<string> {
    this.#server.listen(port, '127.0.0.1');
    await event('the collector listens', this.#server, 'listening');
    const { port: bound } = this.#server.address() as { port: number };
    return `http://127.0.0.1:${bound}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  // biome-ignore lint/suspicious/noExplicitAny: the message has the form of another program.
  #take(path: string, message: any): void {
    if (path === '/v1/traces') {
      for (const { resource, scopeSpans } of message.resourceSpans) {
        this.resources.push(plain(resource.attributes));
        for (const { spans } of scopeSpans)
          for (const span of spans) this.spans.push({ ...span, attributes: plain(span.attributes) });
      }
    } else if (path === '/v1/metrics') {
      this.metrics = message.resourceMetrics.flatMap(
        ({ scopeMetrics }: { scopeMetrics: { metrics: unknown[] }[] }) =>
          scopeMetrics.flatMap(({ metrics }) => metrics.map(metricOf)),
      );
    } else throw new Error(`no such path: ${path}`);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the message has the form of another program.
function metricOf(metric: any): SentMetric {
  const kind = (['sum', 'gauge', 'histogram'] as const).find((each) => metric[each] !== undefined)!;
  const { dataPoints, isMonotonic = false } = metric[kind];
  return {
    name: metric.name,
    kind,
    monotonic: isMonotonic,
    points: dataPoints.map((point: { attributes: Attribute[] }) => ({
      ...point,
      attributes: plain(point.attributes),
    })),
  };
}
