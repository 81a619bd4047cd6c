import type { BatchPort } from '../core/batch-port.js';
import type { BatchWorker } from '../core/batch-worker.js';
import { asError, type ChildSpec, type ExitReason, type RunningChild } from '../core/child.js';
import type { RestartPolicy } from '../core/restart-policy.js';

/** A thread that executes batches on its own database connection. */
export interface StorageThread<C, R> extends BatchPort<C, R> {
  /** Resolves when the connection is open; rejects when it cannot be opened. */
  readonly ready: Promise<void>;
  /** Resolves when the thread has ended: with the error that ended it, or null after an orderly end. */
  readonly gone: Promise<Error | null>;
  /** Asks it to close its connection and end. */
  close(): void;
  /** Ends it at once. */
  kill(): void;
}

/** The options of one supervised storage thread. */
export interface StorageThreadOptions<C, R> {
  readonly id: string;
  readonly policy: RestartPolicy;
  readonly worker: BatchWorker<C, R>;
  readonly spawn: () => StorageThread<C, R>;
  /** Called with each new incarnation, so that a faulty one can be ended. */
  readonly onSpawn?: (thread: StorageThread<C, R>) => void;
  /** How long the orderly close may take. */
  readonly stopTimeoutMs: number;
}

/**
 * A storage thread as a supervised child: each incarnation is attached to the batch worker, which outlives it. When the
 * thread dies, its asks fail with ACTOR_RESTARTED and the queue waits for the next incarnation.
 */
export function storageThread<C, R>(options: StorageThreadOptions<C, R>): ChildSpec {
  return {
    id: options.id,
    policy: options.policy,
    stopTimeoutMs: options.stopTimeoutMs,
    start: async (): Promise<RunningChild> => {
      const thread = options.spawn();
      options.onSpawn?.(thread);
      await Promise.race([
        thread.ready,
        thread.gone.then((error) => {
          throw error ?? new Error(`${options.id} ended before it was ready`);
        }),
      ]);
      const detach = options.worker.attach(thread);
      const stopped = thread.gone.then((error): ExitReason => {
        detach();
        return error === null ? { kind: 'stopped' } : { kind: 'failed', error: asError(error) };
      });
      return {
        stopped,
        stop: async () => {
          thread.close();
          const reason = await stopped;
          if (reason.kind === 'failed') throw reason.error;
        },
      };
    },
  };
}
