import { WRITTEN_TOTALS_MAX } from '../../protocol/base/limits.js';
import type { Instant } from '../../protocol/base/meanings.js';
import { utf8Bytes } from '../../protocol/base/utf8.js';
import { DEFAULT_NODE_POLICY } from '../../protocol/decide/node-policy.js';
import type { QuotaLimits } from '../../protocol/decide/permissions.js';
import {
  chargedBytes,
  dayOf,
  freshUse,
  holderOf,
  type QuotaUse,
  rolledUse,
} from '../../protocol/identity/quota.js';
import type { Memory } from '../../protocol/memory/memory.js';
import type { Connection } from './connection.js';
import { upsert } from './upsert.js';

/** The columns of a saved use, in their order. */
const SAVED = [
  ...['agent_id', 'namespace', 'max_memories_per_day', 'max_storage_bytes', 'max_links_per_day'],
  ...['current_memories_today', 'current_storage_bytes', 'current_links_today', 'day_started_at'],
  ...['created_at', 'updated_at', 'current_written_bytes_today'],
];

export interface QuotaSqlRow {
  agent_id: string;
  namespace: string;
  max_memories_per_day: number;
  max_storage_bytes: number;
  max_links_per_day: number;
  current_memories_today: number;
  current_storage_bytes: number;
  current_links_today: number;
  day_started_at: string;
  created_at: Instant;
  updated_at: Instant;
  current_written_bytes_today: number;
}

/** A holder, and the namespace in which it stores. */
export interface QuotaPlace {
  readonly holder: string;
  readonly namespace: string;
}

/** What a row counts for the bytes of its holder. */
export interface ChargedRow {
  readonly holder: string;
  readonly bytes: number;
}

/** A quota row as the decisions see it. */
export function quotaFromSql(row: QuotaSqlRow): QuotaUse {
  return {
    holder: row.agent_id,
    namespace: row.namespace,
    limits: {
      memoriesPerDay: row.max_memories_per_day,
      storageBytes: row.max_storage_bytes,
      linksPerDay: row.max_links_per_day,
    },
    memoriesToday: row.current_memories_today,
    storageBytes: row.current_storage_bytes,
    linksToday: row.current_links_today,
    writtenBytesToday: row.current_written_bytes_today,
    dayStartedAt: row.day_started_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/**
 * The quota rows inside a write transaction: read once, counted in memory, written before the commit, so a batch writes
 * a holder's row once. The bytes of a holder in a namespace always equal the sum over its live rows there, because the
 * engine counts every row that is added, changed or removed.
 */
export class QuotaLedger {
  private readonly uses = new Map<string, { use: QuotaUse; changed: boolean }>();
  /** What holders have written on a day, over all namespaces. */
  private readonly totals = new Map<string, { readonly day: string; bytes: number }>();
  /** The end of the log at the last commit here; null after a rollback. */
  private sequence: number | null = null;
  private readonly load;
  private readonly save;
  private readonly holders;
  private readonly sum;

  constructor(db: Connection) {
    this.load = db.prepare<[string, string], QuotaSqlRow>(
      'SELECT * FROM agent_quotas WHERE agent_id = ? AND namespace = ?',
    );
    this.holders = db
      .prepare<[string], string>('SELECT agent_id FROM agent_quotas WHERE namespace = ?')
      .pluck();
    this.save = db.prepare(upsert('agent_quotas', ['agent_id', 'namespace'], SAVED));
    this.sum = db
      .prepare<[string, string], number>(
        `SELECT coalesce(sum(current_written_bytes_today), 0) FROM agent_quotas
         WHERE agent_id = ? AND day_started_at >= ?`,
      )
      .pluck();
  }

  /** Starts a transaction. The totals of the last one hold while no other process has written to the log. */
  begin(sequence: number): void {
    this.uses.clear();
    if (sequence !== this.sequence || this.totals.size > WRITTEN_TOTALS_MAX) this.totals.clear();
    this.sequence = null;
  }

  /** Ends a transaction that was committed. */
  committed(sequence: number): void {
    this.sequence = sequence;
  }

  /** Clears the caches after a rollback. */
  clear(): void {
    this.uses.clear();
    this.totals.clear();
  }

  use(holder: string, namespace: string): QuotaUse | null {
    return this.entry(holder, namespace)?.use ?? null;
  }

  /** The bytes that a holder has written today, over all namespaces. */
  written(holder: string, now: string): number {
    const day = dayOf(now);
    const known = this.totals.get(holder);
    if (known?.day === day) return known.bytes;
    this.flush();
    const bytes = this.sum.get(holder, day) ?? 0;
    this.totals.set(holder, { day, bytes });
    return bytes;
  }

  /** Counts the payload of a holder's write. */
  wrote({ holder, namespace }: QuotaPlace, limits: QuotaLimits, payload: string, now: string): void {
    const bytes = utf8Bytes(payload);
    const known = this.use(holder, namespace) ?? freshUse(holder, namespace, limits, now);
    const before = rolledUse(known, now);
    this.put({ ...before, writtenBytesToday: before.writtenBytesToday + bytes, updatedAt: now });
    const total = this.totals.get(holder);
    if (total !== undefined) total.bytes += bytes;
  }

  charge(
    to: QuotaPlace,
    limits: QuotaLimits,
    counts: { readonly memories: number; readonly links: number },
    now: string,
  ): void {
    const before = rolledUse(this.use(to.holder, to.namespace) ?? fresh(to, limits, now), now);
    this.put({
      ...before,
      limits,
      memoriesToday: before.memoriesToday + counts.memories,
      linksToday: before.linksToday + counts.links,
      updatedAt: now,
    });
  }

  /** Counts the change from a row `before` to a row `after`. */
  count(before: Memory | null, after: Memory | null, now: string): void {
    if (before !== null) this.addMemory(before, -chargedBytes(before), now);
    if (after !== null) this.addMemory(after, chargedBytes(after), now);
  }

  /** Sets the bytes of every holder in a namespace to the sum over its rows there. */
  recount(namespace: string, rows: Iterable<ChargedRow>, now: string): void {
    this.flush();
    const bytes = new Map(this.holders.all(namespace).map((holder) => [holder, 0]));
    for (const { holder, bytes: more } of rows) bytes.set(holder, (bytes.get(holder) ?? 0) + more);
    for (const [holder, storageBytes] of bytes) {
      const before =
        this.use(holder, namespace) ?? fresh({ holder, namespace }, DEFAULT_NODE_POLICY.quota, now);
      if (before.storageBytes !== storageBytes) this.put({ ...before, storageBytes, updatedAt: now });
    }
  }

  /** Writes the changed rows; call before a commit or a savepoint. */
  flush(): void {
    for (const entry of this.uses.values()) {
      if (!entry.changed) continue;
      entry.changed = false;
      const { use } = entry;
      this.save.run(
        use.holder,
        use.namespace,
        use.limits.memoriesPerDay,
        use.limits.storageBytes,
        use.limits.linksPerDay,
        use.memoriesToday,
        use.storageBytes,
        use.linksToday,
        use.dayStartedAt,
        use.createdAt,
        use.updatedAt,
        use.writtenBytesToday,
      );
    }
  }

  /** Adds to the bytes that a holder has in a namespace, or takes from them. */
  addBytes(to: QuotaPlace, bytes: number, now: string): void {
    if (bytes === 0) return;
    const use = this.use(to.holder, to.namespace) ?? fresh(to, DEFAULT_NODE_POLICY.quota, now);
    this.put({ ...use, storageBytes: Math.max(0, use.storageBytes + bytes), updatedAt: now });
  }

  private addMemory(memory: Memory, bytes: number, now: string): void {
    const holder = holderOf(memory);
    if (holder !== null) this.addBytes({ holder, namespace: memory.namespace }, bytes, now);
  }

  private entry(holder: string, namespace: string) {
    const key = `${holder} ${namespace}`;
    const known = this.uses.get(key);
    if (known !== undefined) return known;
    const row = this.load.get(holder, namespace);
    if (row === undefined) return null;
    const entry = { use: quotaFromSql(row), changed: false };
    this.uses.set(key, entry);
    return entry;
  }

  private put(use: QuotaUse): void {
    this.uses.set(`${use.holder} ${use.namespace}`, { use, changed: true });
  }
}

function fresh({ holder, namespace }: QuotaPlace, limits: QuotaLimits, now: string): QuotaUse {
  return freshUse(holder, namespace, limits, now);
}
