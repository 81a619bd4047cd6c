import type { Result } from '../../protocol/base/result.js';

/**
 * Where batches are executed: a thread, a process or a function. It answers each batch once, in the order of `post`,
 * with one result for each command in the order of the commands, or it exits. Fewer results, but at least one, say that the
 * rest of the batch did not begin; it is queued again.
 */
export interface BatchPort<C, R> {
  /** May answer before it returns. When it throws, the batch was not taken and the port is unusable. */
  post(batch: readonly C[]): void;
  onResults(callback: (results: readonly Result<R>[]) => void): void;
  /** After the exit the port sends no answers. */
  onExit(callback: () => void): void;
}
