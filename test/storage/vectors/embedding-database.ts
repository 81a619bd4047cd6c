import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { SCHEMA } from '../../../storage/sql/schema.js';

export const MODEL = 'test-model';
export const NOW = '2026-01-01T00:00:00.000Z';

export interface MemoryRow {
  readonly nsId?: number;
  readonly metadata?: Record<string, unknown>;
  readonly expiresAt?: string | null;
}

/** A database file with the product's schema and just enough writing for the vector side, beside a log. */
export class EmbeddingDatabase {
  readonly folder = mkdtempSync(join(tmpdir(), 'mnemesh-vectors-'));
  readonly path = join(this.folder, 'memories.db');
  readonly database = new Database(this.path);
  #sequence = 0;
  #feed = 0;

  constructor() {
    this.database.pragma('journal_mode = WAL');
    this.database.exec(SCHEMA);
    this.database.exec("INSERT INTO log_state VALUES (1, 'peer', 'epoch-1', 0, 0, '', '')");
    const namespace = this.database.prepare('INSERT INTO namespaces VALUES (?, ?)');
    for (let nsId = 1; nsId <= 5; nsId += 1) namespace.run(nsId, `space-${nsId}`);
  }

  /** Appends an operation about a memory, as every mutation does. */
  log(rid: number): void {
    this.#sequence += 1;
    this.database
      .prepare(
        "INSERT INTO operations (commit_sequence, origin, origin_seq, hlc, kind, namespace, subject, seen, payload_hash, prev_hash, payload, rid) VALUES (?, 'peer', ?, '', 'put', 'n', 's', '{}', '', '', NULL, ?)",
      )
      .run(this.#sequence, this.#sequence, rid);
  }

  store(rid: number, row: MemoryRow = {}): void {
    const nsId = row.nsId ?? 1;
    this.database
      .prepare(`INSERT INTO memories (rid, id, tier, namespace, title, content, created_at, updated_at, expires_at, metadata, ns_id)
        VALUES (?, ?, 'short', ?, ?, 'content', '', '', ?, ?, ?)`)
      .run(
        rid,
        `id-${rid}`,
        `space-${nsId}`,
        `t-${rid}`,
        row.expiresAt ?? null,
        JSON.stringify(row.metadata ?? {}),
        nsId,
      );
    this.log(rid);
  }

  /** Writes the vectors of a memory, which is not an operation. */
  embed(rid: number, vectors: readonly number[], model = MODEL): void {
    this.#feed += 1;
    const floats = Float32Array.from(vectors);
    this.database
      .prepare(
        'INSERT OR REPLACE INTO memory_embeddings (rid, feed, model, dim, vectors) VALUES (?, ?, ?, 2, ?)',
      )
      .run(rid, this.#feed, model, Buffer.from(floats.buffer));
  }

  /** Any change of one memory with its operation. */
  change(rid: number, sql: string, ...values: unknown[]): void {
    this.database.prepare(sql).run(...values);
    this.log(rid);
  }

  close(): void {
    this.database.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
