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

/** With an end that was cut off, a quoted value goes to the end of the text. */
const QUOTED = String.raw`"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\\+["'][^"'\\]*\\*["']?`;
const SECRET = 'pass(?:word|wd|phrase)|secret|token|credential|(?:api|access|private)[_-]?key|bearer';
/** Schemes have their secret after them, and the parameters of some go to the end of the line. */
const HEADER = new RegExp(String.raw`(authorization\\*["']?\s*[:=]\s*)(?:${QUOTED}|[^\r\n]+)`, 'gi');
/** Names that only begin like a secret need a sign before the value, so that prose stays. */
const NAMED = new RegExp(
  String.raw`((?:${SECRET})[\w.-]*\\*["']?\s*[:=]\s*|(?:${SECRET}|authorization)["']?\s+)(?:${QUOTED}|\S+)`,
  'gi',
);
const LONG = /[A-Za-z0-9+/_=-]{24,}/g;

/** Replaces values after words such as "token", and long runs of letters and digits, by [redacted]. */
export const redacted = (text: string): string =>
  text
    .replace(HEADER, '$1[redacted]')
    .replace(NAMED, '$1[redacted]')
    .replace(LONG, (run) => (/\d/.test(run) ? '[redacted]' : run));
