import { Worker } from 'node:worker_threads';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { VectorRequest } from './vector-follower.js';
import type { VectorCall, VectorReply, VectorThreadData } from './vector-messages.js';
import type { VectorSearch } from './vector-search.js';

/** Calls inside the thread: one runs, one waits there so that the thread never idles in between. */
const IN_THREAD_MAX = 2;
/** Calls that wait on this side; more are OVERLOADED. */
const WAITING_MAX = 256;

/** The dependencies of the client. */
export interface VectorClientOptions extends VectorThreadData {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
}

interface Call {
  readonly id: number;
  readonly request: VectorRequest | null;
  readonly settle: (outcome: Result<VectorEvidence | null>) => void;
  timer: Timer | null;
}

/**
 * Vector search in its own thread. The first call starts the thread, which loads the index. When the thread dies, every
 * open call fails with ACTOR_RESTARTED and the next call starts another thread. An open call keeps the process alive;
 * an idle thread does not.
 */
export class VectorClient implements VectorSearch {
  readonly #options: VectorClientOptions;
  readonly #waiting: Call[] = [];
  readonly #inThread = new Map<number, Call>();
  #worker: Worker | null = null;
  #nextId = 1;
  #closed = false;

  constructor(options: VectorClientOptions) {
    this.#options = options;
  }

  /** Calls without an answer yet. */
  get depth(): number {
    return this.#waiting.length + this.#inThread.size;
  }

  async search(request: VectorRequest, deadlineMs: number): Promise<Result<VectorEvidence>> {
    const outcome = await this.#call(request, deadlineMs);
    if (!outcome.ok) return outcome;
    if (outcome.value === null) throw new Error('a search was answered without evidence');
    return ok(outcome.value);
  }

  /** Starts the thread and updates its index, so the first search finds it loaded. */
  async warm(deadlineMs: number): Promise<Result<void>> {
    const outcome = await this.#call(null, deadlineMs);
    return outcome.ok ? ok(undefined) : outcome;
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#worker = null;
    this.#failAll(fail('SHUTTING_DOWN', 'vector search is shutting down'));
    await worker?.terminate();
  }

  #call(request: VectorRequest | null, deadlineMs: number): Promise<Result<VectorEvidence | null>> {
    if (this.#closed) return Promise.resolve(fail('SHUTTING_DOWN', 'vector search is shutting down'));
    const remainingMs = deadlineMs - this.#options.clock.monotonicMs();
    if (remainingMs <= 0) return Promise.resolve(this.#late());
    if (this.#waiting.length >= WAITING_MAX) {
      return Promise.resolve(fail('OVERLOADED', `${WAITING_MAX} vector searches are waiting`));
    }
    return new Promise((resolve) => {
      const id = this.#nextId++;
      const call: Call = { id, request, timer: null, settle: resolve };
      call.timer = this.#options.scheduler.after(remainingMs, () => this.#expire(call));
      this.#waiting.push(call);
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#inThread.size < IN_THREAD_MAX) {
      const call = this.#waiting.shift();
      if (call === undefined) break;
      this.#inThread.set(call.id, call);
      const message: VectorCall = { id: call.id, request: call.request };
      const worker = this.#running();
      worker.ref();
      worker.postMessage(message);
    }
    if (this.#inThread.size === 0) this.#worker?.unref();
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    const { place, model, dim, bytesMax } = this.#options;
    const workerData: VectorThreadData = { place, model, dim, bytesMax };
    // stdout may carry a protocol, so output of libraries in the thread must not reach it.
    const worker = new Worker(new URL('./vector-thread.js', import.meta.url), { workerData, stdout: true });
    worker.on('message', (reply: VectorReply) => {
      if (this.#worker === worker) this.#receive(reply);
    });
    let reason = 'ended';
    worker.on('error', (error) => {
      reason = `failed: ${error.message}`;
    });
    worker.on('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#failAll(fail('ACTOR_RESTARTED', `the vector thread ${reason}`));
    });
    this.#worker = worker;
    return worker;
  }

  #receive(reply: VectorReply): void {
    const call = this.#inThread.get(reply.id);
    this.#inThread.delete(reply.id);
    // A call that missed its deadline is already answered; its late answer only frees its place.
    if (call !== undefined)
      this.#settle(call, 'error' in reply ? { ok: false, error: reply.error } : ok(evidenceOf(reply)));
    this.#pump();
  }

  #expire(call: Call): void {
    const place = this.#waiting.indexOf(call);
    if (place >= 0) this.#waiting.splice(place, 1);
    call.settle(this.#late());
  }

  #settle(call: Call, outcome: Result<VectorEvidence | null>): void {
    call.timer?.cancel();
    call.settle(outcome);
  }

  #failAll(outcome: Result<never>): void {
    const calls = [...this.#inThread.values(), ...this.#waiting.splice(0)];
    this.#inThread.clear();
    for (const call of calls) this.#settle(call, outcome);
  }

  #late(): Result<never> {
    return fail('DEADLINE', 'vector search did not answer in time');
  }
}

function evidenceOf(reply: Extract<VectorReply, { found: unknown }>): VectorEvidence | null {
  if (reply.found === null) return null;
  const { rids, cosines, queryVector, mean, deviation, scanned } = reply.found;
  const hits = Array.from(rids, (rid, index) => ({ rid, cosine: cosines[index]! }));
  return { queryVector, hits, mean, deviation, scanned };
}
