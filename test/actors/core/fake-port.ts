import type { BatchPort } from '../../../actors/core/batch-port.js';
import { ok, type Result } from '../../../protocol/base/result.js';

/** A port under the test's hand: it keeps what is posted until the test answers it. */
export class FakePort implements BatchPort<number, string> {
  /** Posted and not answered, oldest first. */
  readonly batches: (readonly number[])[] = [];
  /** Everything ever posted, in order. */
  readonly posted: (readonly number[])[] = [];
  /** What the next `post` throws. */
  postError: Error | null = null;
  /** Answers inside `post`, as an engine on the same thread does. */
  inline = false;
  private results: (results: readonly Result<string>[]) => void = () => {};
  private exited: () => void = () => {};

  post(batch: readonly number[]): void {
    if (this.postError !== null) throw this.postError;
    this.posted.push(batch);
    this.batches.push(batch);
    if (this.inline) this.answer();
  }

  onResults(callback: (results: readonly Result<string>[]) => void): void {
    this.results = callback;
  }

  onExit(callback: () => void): void {
    this.exited = callback;
  }

  /** Answers the oldest batch; false when there is none. */
  answer(make: (command: number) => Result<string> = (command) => ok(`done ${command}`)): boolean {
    const batch = this.batches.shift();
    if (batch === undefined) return false;
    this.results(batch.map(make));
    return true;
  }

  /** Sends results of the test's own making. */
  send(results: readonly Result<string>[]): void {
    this.results(results);
  }

  exit(): void {
    this.exited();
  }
}
