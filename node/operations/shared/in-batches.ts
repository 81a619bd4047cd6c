import { failed, failedAfter, ok, type Result } from '../../../protocol/base/result.js';

/** The outcome of one transaction of a long removal. */
export interface Batch {
  readonly done: number;
  readonly more: boolean;
}

/**
 * Repeats a bounded transaction until nothing is left, so that no transaction is huge and other callers get their turn
 * in between. Returns the total. A failure after the first batch says in `done` how much stays done. `progress`
 * receives the sum after every batch.
 */
export async function inBatches(
  batch: () => Promise<Result<Batch>>,
  progress: (done: number) => void,
): Promise<Result<number>> {
  let total = 0;
  for (;;) {
    const result = await batch();
    if (!result.ok) {
      return total === 0 ? failed(result.error) : failedAfter(total, result.error);
    }
    total += result.value.done;
    progress(total);
    if (!result.value.more) return ok(total);
  }
}
