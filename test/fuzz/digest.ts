import { createHash } from 'node:crypto';
import { TOUCH_FLUSH_INTERVAL_MS } from '../../protocol/base/limits.js';
import type { Connection } from '../../storage/sql/connection.js';
import { openBeside } from '../support/test-store.js';

/** Tables that the node itself writes while nobody asks anything. */
const OWN_TABLES: ReadonlySet<string> = new Set([
  'database_owner',
  // Rows are compared some time after they were stored.
  'near_duplicates',
  'near_duplicates_through',
  // Deliveries to receivers that do not exist go on for as long as their retries.
  'subscription_dlq',
  // An event gets a row of its own when its delivery fails.
  'subscription_events',
]);

/** Columns that the node itself writes in tables that requests write too. */
const OWN_COLUMNS: Readonly<Record<string, ReadonlySet<string>>> = {
  subscriptions: new Set([
    ...['last_dispatched_at', 'dispatch_count', 'failure_count', 'failures_in_row', 'status'],
    ...['pending_count', 'dlq_count', 'dropped_count', 'ended_count', 'passed_seq', 'since_seq'],
  ]),
  subscription_changes: new Set(['revision']),
};

/**
 * A hash of every row for each table, a line each; the database is opened read-only. The last process that closes a
 * database removes its log file: in that moment neither the file can be opened nor its first page be read.
 */
export function digestOf(path: string, without: readonly string[] = [], triesLeft = 20): string {
  try {
    return digestNow(path, without);
  } catch (error) {
    if (triesLeft === 0 || (error as { code?: unknown }).code !== 'SQLITE_CANTOPEN') throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    return digestOf(path, without, triesLeft - 1);
  }
}

function digestNow(path: string, without: readonly string[]): string {
  const db = openBeside({ path });
  try {
    const tables = db
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
      )
      .pluck()
      .all() as string[];
    const lines: string[] = [];
    db.transaction(() => {
      for (const table of tables) {
        if (OWN_TABLES.has(table) || without.includes(table)) continue;
        const hash = createHash('sha256');
        for (const row of db
          .prepare(`SELECT ${columnsOf(db, table)} FROM "${table}"`)
          .raw()
          .iterate())
          hash.update(JSON.stringify(row));
        lines.push(`${table} ${hash.digest('hex')}`);
      }
    })();
    return lines.join('\n');
  } finally {
    db.close();
  }
}

function columnsOf(db: Connection, table: string): string {
  const own = OWN_COLUMNS[table];
  if (own === undefined) return '*';
  const names = db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table) as string[];
  return names
    .filter((name) => !own.has(name))
    .map((name) => `"${name}"`)
    .join(', ');
}

/** Reads are counted within half of this after they happened, and later where the machine is busy. */
const SETTLED_AFTER_MS = 2 * TOUCH_FLUSH_INTERVAL_MS;
const SETTLE_WITHIN_MS = 20_000;

/** The digest once nothing moves any more: recalls are counted behind their answers. */
export async function settledDigest(path: string, without: readonly string[] = []): Promise<string> {
  const until = Date.now() + SETTLE_WITHIN_MS;
  let digest = digestOf(path, without);
  let moved: string[] = [];
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, SETTLED_AFTER_MS));
    const next = digestOf(path, without);
    if (next === digest) return digest;
    const before = new Set(digest.split('\n'));
    moved = next.split('\n').filter((line) => !before.has(line));
    digest = next;
  }
  throw new Error(`the database does not come to rest: ${moved.join(', ')}`);
}
