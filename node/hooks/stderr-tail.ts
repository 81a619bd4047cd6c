import { HOOK_ERRORS_BYTES_MAX } from '../../actors/hooks/limits.js';

/** The end of what a hook wrote to its standard error. */
export class StderrTail {
  #kept = Buffer.alloc(0);

  push(chunk: Uint8Array): void {
    const all = Buffer.concat([this.#kept, chunk]);
    this.#kept = Buffer.from(all.subarray(Math.max(0, all.length - HOOK_ERRORS_BYTES_MAX)));
  }

  /** The text with what looks like a secret left out; empty when nothing was written. */
  text(): string {
    return redacted(this.#kept.toString('utf8').trim());
  }
}

const NAMED = /((?:password|passwd|secret|token|api[_-]?key|authorization|bearer)["']?\s*[:= ]\s*)\S+/gi;
const LONG = /[A-Za-z0-9+/_=-]{24,}/g;

/** Replaces values after words such as "token", and long runs of letters and digits, by [redacted]. */
export const redacted = (text: string): string =>
  text.replace(NAMED, '$1[redacted]').replace(LONG, (run) => (/\d/.test(run) ? '[redacted]' : run));
