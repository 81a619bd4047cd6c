import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Asking, PostgresPlace, Reply, Request, Run } from './messages.js';

/** How long the thread of a connection may take beyond the time that a statement may: it opens connections as well. */
const ALLOWANCE_MS = 60_000;
/** The same where a statement may take any time. */
const LONGEST_MS = 24 * 3600 * 1000;

/** After each of these times without an answer the thread looks whether the server is still there. */
const LOOK_MS = 2000;

/** Ends the session of a connection that nobody closed and nobody holds any more. */
const forgotten = new FinalizationRegistry<MessagePort>((port) => {
  port.postMessage('close' satisfies Request);
});

/** A question, each kind without its number. */
type Unnumbered = Asking extends infer Each ? (Each extends Asking ? Omit<Each, 'number'> : never) : never;

/** Waits, in the thread that calls, for what another thread asks of the server. */
export class Bridge {
  readonly #port;
  readonly #worker;
  readonly #answered = new Int32Array(new SharedArrayBuffer(4));
  readonly #patienceMs: number;
  #seen = 0;
  #number = 0;

  constructor(place: PostgresPlace, readOnly: boolean, patienceMs = patienceFor(place)) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#patienceMs = patienceMs;
    this.#worker = new Worker(new URL('./postgres-thread.js', import.meta.url), {
      workerData: { place, readOnly, answered: this.#answered, port: port2 },
      transferList: [port2],
      // stdout may carry a protocol.
      stdout: true,
      resourceLimits: { maxYoungGenerationSizeMb: 6 },
    });
    this.#worker.unref();
    port1.unref();
    forgotten.register(this, port1);
  }

  ask(asked: Unnumbered): Reply {
    this.#number += 1;
    this.#port.postMessage({ ...asked, number: this.#number } satisfies Request);
    for (let waitedMs = 0; ; ) {
      const outcome = Atomics.wait(this.#answered, 0, this.#seen, Math.min(LOOK_MS, this.#patienceMs));
      const message = receiveMessageOnPort(this.#port) as { message: Reply } | undefined;
      if (message !== undefined) {
        this.#seen += 1;
        // The answer to a question for which this thread waited no longer.
        if (message.message.number !== this.#number) continue;
        return message.message;
      }
      if (outcome !== 'timed-out') continue;
      waitedMs += LOOK_MS;
      if (waitedMs < this.#patienceMs) this.#port.postMessage('look' satisfies Request);
      else {
        this.#port.postMessage({ givenUp: this.#number } satisfies Request);
        const error = { code: 'CONNECTION', message: 'the server did not answer', constraint: null };
        return { rows: [], counts: [], error };
      }
    }
  }

  /** Ends a transaction that only read, and does not wait. */
  end(ending: Run): void {
    this.#port.postMessage({ ending } satisfies Request);
  }

  close(): void {
    this.#port.postMessage('close' satisfies Request);
  }
}

const patienceFor = ({ statementTimeoutMs }: PostgresPlace): number =>
  statementTimeoutMs === 0 ? LONGEST_MS : statementTimeoutMs + ALLOWANCE_MS;
