import { SCHEMA } from '../sql/schema.js';
import type { Rows } from './messages.js';

/** What a statement does to tables. */
export interface Effect {
  /** Tables whose rows decide its answer; null where the answer may be another one each time. */
  readonly reads: ReadonlySet<string> | null;
  /** The table that it writes; `all` where that is not plain; null where it writes none. */
  readonly writes: string | null;
}

const TABLES = new Set(
  [...SCHEMA.matchAll(/^CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)/gm)].map(([, name]) => name!),
);
/** Views, with the table behind each. */
const VIEWS: Readonly<Record<string, string>> = { memories_fts_docsize: 'memories_fts' };

/** Functions whose answer does not follow from rows. */
const UNSTABLE = /\b(pg_\w+|nextval|currval|random|now|clock_timestamp|current_\w+)\b/i;
const WRITING = /^\s*(?:INSERT\s+INTO|UPDATE)\s+"?(\w+)/i;
const CHANGING = /\b(INSERT|UPDATE|DELETE)\b/i;
const NO_EFFECT = /^\s*(BEGIN|COMMIT|SAVEPOINT|RELEASE)\b/i;

/** What a statement of the common SQL reads and writes. */
export function effectOf(text: string): Effect {
  if (NO_EFFECT.test(text)) return { reads: null, writes: null };
  if (/^\s*(SELECT|WITH)\b/i.test(text) && !CHANGING.test(text)) {
    if (UNSTABLE.test(text)) return { reads: null, writes: null };
    const words = [...text.matchAll(/\w+/g)].map(([word]) => VIEWS[word] ?? word);
    const reads = new Set(words.filter((word) => TABLES.has(word)));
    return { reads: reads.size === 0 ? null : reads, writes: null };
  }
  // A deletion takes rows of other tables along, and a rollback brings any back.
  return { reads: null, writes: WRITING.exec(text)?.[1] ?? 'all' };
}

export interface Entry<S> {
  readonly statement: S;
  readonly values: readonly unknown[];
  readonly reads: ReadonlySet<string>;
  /** True from the time when it is queued. */
  isQueued: boolean;
  /** Null until the server has answered. */
  rows: Rows | null;
}

/** Reads that the next transaction asks for at its beginning. */
const EXPECTED_MAX = 32;

/**
 * Answers inside a transaction beside which nobody else writes: they hold until it writes one of their tables itself. What two
 * transactions have asked alike, the next one asks for at its beginning, in one trip.
 */
export class ReadCache<S extends { readonly number: number }> {
  private readonly entries = new Map<string, Entry<S>>();
  private asked = new Map<string, Entry<S>>();
  private askedBefore = new Map<string, Entry<S>>();
  private isOpen = false;

  /** Begins a transaction; answers the reads to ask for. */
  begin(): readonly Entry<S>[] {
    this.isOpen = true;
    this.entries.clear();
    const expected = [...this.asked]
      .filter(([key]) => this.askedBefore.has(key))
      .slice(0, EXPECTED_MAX)
      .map(([key, { statement, values, reads }]) => {
        const entry: Entry<S> = { statement, values, reads, isQueued: false, rows: null };
        this.entries.set(key, entry);
        return entry;
      });
    this.askedBefore = this.asked;
    this.asked = new Map();
    return expected;
  }

  end(): void {
    this.isOpen = false;
    this.entries.clear();
  }

  /** What is known of an answer; null outside a transaction and for a read whose answer cannot be kept. */
  of(statement: S, values: readonly unknown[], { reads }: Effect): Entry<S> | null {
    if (!this.isOpen || reads === null) return null;
    const key = keyOf(statement, values);
    if (key === null) return null;
    let entry = this.entries.get(key);
    if (entry === undefined) {
      entry = { statement, values, reads, isQueued: false, rows: null };
      this.entries.set(key, entry);
    }
    this.asked.set(key, entry);
    return entry;
  }

  /** A statement was queued that changes rows of a table. */
  changed({ writes }: Effect): void {
    if (writes === null || this.entries.size === 0) return;
    if (writes === 'all') {
      this.entries.clear();
      return;
    }
    for (const [key, { reads }] of this.entries) if (reads.has(writes)) this.entries.delete(key);
  }
}

function keyOf(statement: { readonly number: number }, values: readonly unknown[]): string | null {
  let key = String(statement.number);
  for (const value of values) {
    if (typeof value === 'object' && value !== null) return null;
    key += `\n${typeof value}${String(value)}`;
  }
  return key.length > KEY_MAX ? null : key;
}
const KEY_MAX = 2_000;
