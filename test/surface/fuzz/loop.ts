import assert from 'node:assert/strict';
import { digestOf, settledDigest } from './digest.js';

/** What a server under fuzz may grow by after the first tenth of a run. */
const GROWTH_BYTES_MAX = 96 * 1024 * 1024;
/** Looks at the memory; the least counts, since between two collections it holds what nobody needs. */
const LOOKS = 20;
const REPLAYS_MAX = 4;

/** Watches that a server does not grow over a run: what it needs is there after the first tenth. */
export class MemoryWatch {
  private first: number | null = null;

  constructor(
    private readonly what: string,
    /** Bytes in use now; null when they cannot be known here. */
    private readonly read: () => Promise<number | null>,
  ) {}

  /** To be called again and again; takes its first measure when a tenth is through. */
  async at(done: number, all: number): Promise<void> {
    if (this.first === null && done >= all / 10) this.first = await this.least();
  }

  /** Fails when it has grown; answers what to log. */
  async end(): Promise<string> {
    const last = await this.least();
    if (this.first === null || last === null) return `${this.what}: not measured`;
    const text = `${this.what} ${mebibytes(this.first)} after the first tenth, ${mebibytes(last)} at the end`;
    assert.ok(last - this.first < GROWTH_BYTES_MAX, `it grew: ${text}`);
    return text;
  }

  private async least(): Promise<number | null> {
    let least: number | null = null;
    for (let look = 0; look < LOOKS; look += 1) {
      const bytes = await this.read();
      if (bytes !== null && (least === null || bytes < least)) least = bytes;
    }
    return least;
  }
}

const mebibytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

/**
 * What was refused once is refused again and leaves every row and the log as they were. What succeeds the second time
 * (its title is free, its id exists now) is left out, and the others are sent anew. Answers how many proved it.
 */
export async function replayRefused<T>(
  path: string,
  refused: readonly T[],
  batchSize: number,
  /** Sends a batch again; says of each whether it was refused. */
  send: (batch: readonly T[]) => Promise<readonly boolean[]>,
): Promise<number> {
  let left = refused;
  for (let round = 0; round < REPLAYS_MAX; round += 1) {
    const before = await settledDigest(path);
    const accepted = new Set<T>();
    for (let at = 0; at < left.length; at += batchSize) {
      const batch = left.slice(at, at + batchSize);
      const verdicts = await send(batch);
      for (const [index, wasRefused] of verdicts.entries()) if (!wasRefused) accepted.add(batch[index]!);
    }
    if (accepted.size === 0) {
      assert.equal(digestOf(path), before, 'what was refused changed the database');
      return left.length;
    }
    left = left.filter((each) => !accepted.has(each));
  }
  return 0;
}

/** A fault with what is needed to see it again. */
export function fault(seed: number, problem: string, ...shown: readonly string[]): never {
  throw new Error([`seed ${seed}: ${problem}`, ...shown].join('\n'));
}
