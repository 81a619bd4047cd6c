/** The load generator: a process of its own, told by messages what load to make. */
import { type AgentKey, agentKey, signedStoreBody } from '../support/signing.js';
import { HttpConnection } from './http-connection.js';
import type { LoadAnswer, LoadFigures, LoadPlan, LoadResult, LoadStream } from './load-plan.js';
import { percentiles } from './statistics.js';
import { ownWord } from './words.js';

const CONTENT_BYTES = 120;
const SHED = 503;
/** Stands for the worker in what is signed ahead. */
const AHEAD = -1;

/** Collects what happened to the requests of one label. */
class Recorder {
  readonly latencies: number[] = [];
  readonly failed: Record<string, number> = {};
  shed = 0;
  marked = 0;
  bytes = 0;

  constructor(private readonly mark: Buffer | null) {}

  answer(status: number, body: Buffer, latencyMs: number): void {
    if (status >= 200 && status < 300) {
      this.latencies.push(latencyMs);
      this.bytes += body.length;
      if (this.mark !== null && body.includes(this.mark)) this.marked += 1;
    } else if (status === SHED) this.shed += 1;
    else this.failed[status] = (this.failed[status] ?? 0) + 1;
  }

  figures(label: string, seconds: number): LoadFigures {
    const ok = this.latencies.length;
    const { shed, failed, marked } = this;
    return {
      label,
      ok,
      perSecond: ok / seconds,
      ...percentiles(this.latencies),
      shed,
      failed,
      marked,
      bodyBytes: ok === 0 ? 0 : this.bytes / ok,
    };
  }
}

interface Run {
  readonly plan: LoadPlan;
  readonly startMs: number;
  readonly recorders: Map<string, Recorder>;
  /** Bodies that were signed before the run, by stream. */
  readonly signed: Map<LoadStream, string[]>;
  /** Requests that may still begin. */
  left: number;
}

/** The body of a store, signed when the stream says so. */
function storeBody(stream: LoadStream, worker: number, n: number, turn: number): string {
  const content = `capacity envelope probe worker=${worker} seq=${n} envelope probe keyword token `;
  const fields = {
    title: `${stream.titlePrefix}-c${stream.clients}-w${worker}-${n}`,
    content: content.padEnd(CONTENT_BYTES, 'x'),
    namespace: stream.namespaces[turn % stream.namespaces.length]!,
    tier: 'short',
  };
  if (stream.signAs === null) return JSON.stringify(fields);
  return JSON.stringify(signedStoreBody(keyOf(stream.signAs), fields, new Date().toISOString()));
}

const keys = new Map<string, AgentKey>();

function keyOf(agentId: string): AgentKey {
  const known = keys.get(agentId) ?? agentKey(agentId);
  keys.set(agentId, known);
  return known;
}

/** One client of a stream. */
class Client {
  private readonly connection: HttpConnection;
  private sequence = 0;
  private sentAt = 0;
  private label = '';
  private finish: () => void = () => {};

  constructor(
    private readonly run: Run,
    private readonly stream: LoadStream,
    private readonly worker: number,
  ) {
    const { host, port } = run.plan;
    this.connection = new HttpConnection(
      host,
      port,
      (status, body) => this.answered(status, body),
      () => this.broken(),
    );
  }

  connect(): Promise<void> {
    return this.connection.connect();
  }

  work(): Promise<void> {
    return new Promise((resolve) => {
      this.finish = resolve;
      this.next();
    });
  }

  private get endMs(): number {
    return this.run.startMs + this.run.plan.warmupMs + this.run.plan.durationMs;
  }

  private next(): void {
    const now = performance.now();
    const { ratePerSecond, clients } = this.stream;
    if (now >= this.endMs || this.run.left <= 0) {
      this.connection.close();
      this.finish();
      return;
    }
    if (ratePerSecond === null) {
      this.send(now);
      return;
    }
    const turn = this.sequence * clients + this.worker;
    const dueMs = this.run.startMs + (turn * 1000) / ratePerSecond;
    // A request that had to wait for the one before it counts from when it was due.
    if (now >= dueMs) this.send(dueMs);
    else setTimeout(() => this.send(performance.now()), dueMs - now);
  }

  private send(fromMs: number): void {
    const { stream } = this;
    const turn = this.sequence * stream.clients + this.worker;
    this.sequence += 1;
    this.run.left -= 1;
    this.sentAt = fromMs;
    const stores = stream.storeEvery > 0 && turn % stream.storeEvery === 0;
    this.connection.send(stores ? this.store(turn) : this.read(turn));
  }

  private store(turn: number): string {
    const { stream, worker } = this;
    this.label = stream.storeLabel;
    const body = this.run.signed.get(stream)?.pop() ?? storeBody(stream, worker, this.sequence, turn);
    return `POST /api/v1/memories HTTP/1.1\r\n${this.headers()}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  }

  private read(turn: number): string {
    const { reads, suffix } = this.stream;
    const { label, path } = reads[turn % reads.length]!;
    this.label = label;
    const own = suffix ? `%20${ownWord(this.worker, this.sequence)}` : '';
    return `GET ${path}${own} HTTP/1.1\r\n${this.headers()}\r\n`;
  }

  private headers(): string {
    const { host, port, headers } = this.run.plan;
    return `host: ${host}:${port}\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}`;
  }

  private answered(status: number, body: Buffer): void {
    const now = performance.now();
    const countedFrom = this.run.startMs + this.run.plan.warmupMs;
    if (this.sentAt >= countedFrom && now <= this.endMs) {
      this.run.recorders.get(this.label)!.answer(status, body, now - this.sentAt);
    }
    if (this.connection.connected) this.next();
  }

  private broken(): void {
    this.run.recorders.get(this.label)!.answer(0, Buffer.alloc(0), 0);
    this.connection.connect().then(
      () => this.next(),
      () => this.finish(),
    );
  }
}

async function run(plan: LoadPlan): Promise<LoadResult> {
  const recorders = new Map<string, Recorder>();
  for (const stream of plan.streams) {
    const mark = stream.mark === null ? null : Buffer.from(stream.mark);
    for (const { label } of stream.reads) recorders.set(label, new Recorder(mark));
    if (stream.storeEvery > 0) recorders.set(stream.storeLabel, new Recorder(mark));
  }
  const signed = new Map(
    plan.streams.map((stream) => [
      stream,
      Array.from({ length: stream.signedAhead }, (_, n) => storeBody(stream, AHEAD, n, n)),
    ]),
  );
  const state = { plan, startMs: 0, recorders, signed, left: plan.requestsMax ?? Number.POSITIVE_INFINITY };
  const clients = plan.streams.flatMap((stream) =>
    Array.from({ length: stream.clients }, (_, worker) => new Client(state, stream, worker)),
  );
  await Promise.all(clients.map((client) => client.connect()));
  const cpuBefore = process.cpuUsage();
  state.startMs = performance.now();
  await Promise.all(clients.map((client) => client.work()));
  const { user, system } = process.cpuUsage(cpuBefore);
  const elapsedMs = performance.now() - state.startMs;
  const countedMs = plan.requestsMax === null ? plan.durationMs : elapsedMs - plan.warmupMs;
  return {
    figures: [...recorders].map(([label, recorder]) => recorder.figures(label, countedMs / 1000)),
    generatorCpu: (user + system) / 1000 / elapsedMs,
  };
}

process.on('message', (plan: LoadPlan) => {
  const answer = (message: LoadAnswer) => process.send!(message);
  run(plan).then(
    (result) => answer({ result }),
    (error: Error) => answer({ error: error.stack ?? error.message }),
  );
});
process.on('disconnect', () => process.exit());
