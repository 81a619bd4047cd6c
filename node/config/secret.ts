import { inspect } from 'node:util';

/** Stands for what is not shown. */
export const REDACTED = '[redacted]';

/**
 * A key that only `reveal` shows: in JSON, in text, in a log and in an error it reads
 * `[redacted]` (interface §2.12 rule 5, §5.5).
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The key itself; pass it only to code that checks or sends it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
