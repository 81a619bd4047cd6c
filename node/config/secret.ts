import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A key that shows itself only to who calls `reveal`: in JSON, in a text, in a log and in an error it reads
 * `[redacted]` (interface §2.12 rule 5, §5.5).
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The key itself; hand it to what checks or sends it, and to nothing else. */
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
