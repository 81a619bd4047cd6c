import { EMBED_STATES } from '../../protocol/commands.js';
import type { Memory, MemoryRow } from '../../protocol/memory.js';
import { type MemoryImage, memoryPayload, type Removal } from '../../protocol/operation-log.js';
import type { VersionVector } from '../../protocol/version-vector.js';
import type { Connection } from './connection.js';
import { type Digests, isDigest } from './digests.js';
import { type OperationStamp, vectorOf } from './operation-rows.js';
import type { QuotaLedger } from './quota-ledger.js';
import { DamagedRowError, memoryToSql, ROW_COLUMNS } from './rows.js';
import { type HeaderHashes, Stamps } from './stamps.js';
import { TitleSlots } from './title-slots.js';

/** The last operation of a subject, for its row or its tombstone. */
export interface SubjectStamp {
  readonly hlc: string;
  readonly origin: string;
  readonly origin_seq: number;
  readonly seen: VersionVector;
}

/** What a replacement of a row leaves alone. */
export interface Replacement {
  /** False when only tier, expiry, date, version and stamps change, so that the full text is left alone. */
  readonly text: boolean;
  /** True when the embedded text changed, so that its vectors are stale. */
  readonly reembed: boolean;
  readonly lifeAt: string | null;
}

/**
 * The rows of memories with all that hangs on them: full text, vectors, archive, tombstones, titles, quotas and digests.
 * Local writes and those of other nodes come through here alike.
 */
export class MemoryRows {
  private readonly statements;
  private readonly titles;
  private readonly stamps;
  private readonly namespaceIds = new Map<string, number>();

  constructor(
    db: Connection,
    log: HeaderHashes,
    private readonly quotas: QuotaLedger,
    private readonly digests: Digests,
  ) {
    this.titles = new TitleSlots(db);
    this.stamps = new Stamps(db, log);
    const assignments = ROW_COLUMNS.filter((column) => column !== 'id').map((column) => `${column} = ?`);
    this.statements = {
      insert: db.prepare(
        `INSERT INTO memories (${ROW_COLUMNS.join(', ')}, ns_id, digest, conflict_of)
         VALUES (${ROW_COLUMNS.map(() => '?').join(', ')}, ?, ?, ?)`,
      ),
      index: db.prepare('INSERT INTO memories_fts (rowid, title, content, tags, nst) VALUES (?, ?, ?, ?, ?)'),
      replace: db.prepare(
        `UPDATE memories SET ${assignments.join(', ')}, ns_id = ?, digest = ?, embed_state = iif(?, 0, embed_state),
           life_at = coalesce(?, life_at), conflict_of = ? WHERE id = ?`,
      ),
      // A write that leaves the text alone must not reach the full-text trigger.
      replaceUnindexed: db.prepare(
        `UPDATE memories SET tier = ?, expires_at = ?, updated_at = ?, version = ?, edited = ?, hlc = ?, origin = ?,
           origin_seq = ?, seen = ?, digest = ?, life_at = coalesce(?, life_at) WHERE id = ?`,
      ),
      remove: db.prepare('DELETE FROM memories WHERE rid = ?'),
      dropEmbedding: db.prepare('DELETE FROM memory_embeddings WHERE rid = ?'),
      archive: db.prepare(
        `INSERT OR REPLACE INTO archived_memories
           (${ROW_COLUMNS.join(', ')}, archived_at, archive_reason, original_tier, original_expires_at,
            embedding, embedding_dim, embedding_model)
         SELECT ${ROW_COLUMNS.map(() => '?').join(', ')}, ?, ?, ?, ?, e.vectors, e.dim, e.model
         FROM (SELECT 1) LEFT JOIN (SELECT vectors, dim, model FROM memories m JOIN memory_embeddings e ON e.rid = m.rid
           WHERE m.id = ? AND m.title = ? AND m.content = ?) e`,
      ),
      local: db.prepare<[string], { access_count: number; last_accessed_at: string | null }>(
        'SELECT access_count, last_accessed_at FROM memories WHERE id = ?',
      ),
      tombstone: db.prepare(
        `INSERT OR REPLACE INTO tombstones
           (id, namespace, title, deleted_at, hlc, origin, origin_seq, seen, kind, reason, expires_at, version)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      tombstoneStamp: db.prepare<[string], OperationStamp>(
        'SELECT hlc, origin, origin_seq, seen FROM tombstones WHERE id = ?',
      ),
      restampTombstone: db.prepare(
        'UPDATE tombstones SET hlc = ?, origin = ?, origin_seq = ?, seen = ? WHERE id = ?',
      ),
      dropTombstone: db.prepare('DELETE FROM tombstones WHERE id = ?'),
      // Vectors without the name of their model cannot be compared; such a row is embedded again.
      restoreEmbedding: db.prepare(
        `INSERT INTO memory_embeddings (rid, model, dim, vectors)
         SELECT ?, embedding_model, embedding_dim, embedding FROM archived_memories
         WHERE id = ? AND embedding IS NOT NULL AND embedding_dim IS NOT NULL AND embedding_model IS NOT NULL
           AND title = ? AND content = ?`,
      ),
      dropArchived: db.prepare('DELETE FROM archived_memories WHERE id = ?'),
      state: db.prepare<[string], { rid: number; digest: Uint8Array | null; conflict_of: string | null }>(
        'SELECT rid, digest, conflict_of FROM memories WHERE id = ?',
      ),
      embedState: db.prepare('UPDATE memories SET embed_state = ? WHERE rid = ?'),
      addNamespace: db.prepare('INSERT OR IGNORE INTO namespaces (name) VALUES (?)'),
      namespaceId: db.prepare<[string], { ns_id: number }>('SELECT ns_id FROM namespaces WHERE name = ?'),
    };
  }

  /** Forgets interned namespaces, because the transaction that made them was rolled back. */
  forgetNamespaces(): void {
    this.namespaceIds.clear();
  }

  /** Inserts a row; answers its number. `payload` is the text of its post-image. */
  insert(memory: Memory, payload: string, now: string): number {
    const nsId = this.namespaceId(memory.namespace);
    const digest = this.digests.of(memory.id, payload);
    const rival = this.titles.rivalOf(memory.id, memory.title, memory.namespace);
    const inserted = this.statements.insert.run(...memoryToSql(memory), nsId, digest, rival);
    if (rival !== null) this.titles.settle(memory.title, memory.namespace);
    const rid = Number(inserted.lastInsertRowid);
    this.statements.index.run(
      inserted.lastInsertRowid,
      memory.title,
      memory.content,
      JSON.stringify(memory.tags),
      `n${nsId}`,
    );
    this.digests.join(memory.namespace, digest);
    this.quotas.count(null, memory, now);
    return rid;
  }

  /** Replaces a row in place; answers its number. Throws DamagedRowError, as does a removal. */
  replace(before: Memory, memory: Memory, payload: string, how: Replacement, now: string): number {
    const state = this.statements.state.get(memory.id)!;
    this.expectWhole(before, state.digest);
    const digest = this.digests.of(memory.id, payload);
    const moved = before.title !== memory.title || before.namespace !== memory.namespace;
    if (how.text) {
      const rival = moved
        ? this.titles.rivalOf(memory.id, memory.title, memory.namespace)
        : state.conflict_of;
      const [, ...values] = memoryToSql(memory);
      this.statements.replace.run(
        ...values,
        this.namespaceId(memory.namespace),
        digest,
        how.reembed ? 1 : 0,
        how.lifeAt,
        rival,
        memory.id,
      );
      this.quotas.count(before, memory, now);
    } else {
      this.statements.replaceUnindexed.run(
        memory.tier,
        memory.expires_at,
        memory.updated_at,
        memory.version,
        memory.edited,
        memory.hlc,
        memory.origin,
        memory.origin_seq,
        JSON.stringify(memory.seen),
        digest,
        how.lifeAt,
        memory.id,
      );
    }
    if (moved) {
      this.titles.settle(before.title, before.namespace);
      this.titles.settle(memory.title, memory.namespace);
    } else if (before.created_hlc !== memory.created_hlc) {
      this.titles.settle(memory.title, memory.namespace);
    }
    this.digests.leave(before.namespace, state.digest);
    this.digests.join(memory.namespace, digest);
    if (how.reembed) this.statements.dropEmbedding.run(state.rid);
    return state.rid;
  }

  /** Copies what a removal took into the archive; vectors come along where they are those of its text. */
  archive(image: MemoryImage, reason: string, stamp: SubjectStamp, now: string): void {
    const { id, title, content } = image;
    const local = this.statements.local.get(id) ?? { access_count: 0, last_accessed_at: null };
    this.statements.archive.run(
      ...memoryToSql({ ...image, ...local, ...stamp }),
      now,
      reason,
      image.tier,
      image.expires_at,
      id,
      title,
      content,
    );
  }

  /** Removes a row and leaves a tombstone. */
  remove(row: MemoryRow, removal: Removal, stamp: SubjectStamp, now: string): void {
    const { digest } = this.statements.state.get(row.id)!;
    this.expectWhole(row, digest);
    this.statements.dropEmbedding.run(row.rid);
    this.statements.remove.run(row.rid);
    this.titles.settle(row.title, row.namespace);
    this.digests.leave(row.namespace, digest);
    this.quotas.count(row, null, now);
    this.bury(row.id, removal, stamp, now);
  }

  /** Takes away a row that may be damaged, and all that hangs on it but what its holder is charged. */
  erase(
    rid: number,
    held: {
      readonly title: string;
      readonly namespace: string;
      /** The namespace that the row counts for. */
      readonly counted: string | null;
      readonly digest: Uint8Array | null;
    },
  ): void {
    this.statements.dropEmbedding.run(rid);
    this.statements.remove.run(rid);
    this.titles.settle(held.title, held.namespace);
    this.digests.leave(held.counted ?? held.namespace, held.digest);
  }

  /** Writes the tombstone of a subject. */
  bury(id: string, removal: Removal, stamp: SubjectStamp, deletedAt: string): void {
    this.statements.tombstone.run(
      id,
      removal.namespace,
      removal.title,
      deletedAt,
      stamp.hlc,
      stamp.origin,
      stamp.origin_seq,
      JSON.stringify(stamp.seen),
      removal.kind,
      removal.reason,
      removal.expiresAt,
      removal.version,
    );
  }

  /** A row that lives again takes its vectors back from the archive, where they are those of its text. */
  leaveArchive(memory: Memory, rid: number): void {
    if (this.statements.restoreEmbedding.run(rid, memory.id, memory.title, memory.content).changes > 0) {
      this.statements.embedState.run(EMBED_STATES.embedded, rid);
    }
    this.dropArchived(memory.id);
    this.unbury(memory.id);
  }

  /** What was deleted lives again. */
  unbury(id: string): void {
    this.statements.dropTombstone.run(id);
  }

  dropArchived(id: string): void {
    this.statements.dropArchived.run(id);
  }

  /** A row that is taken as it stands, with stamps that the log does not contradict. */
  restamped(row: Memory): Memory {
    const { hlc, origin, origin_seq, seen } = this.stamps.settled(row.id, row);
    return { ...row, hlc, origin, origin_seq, seen };
  }

  /** Gives a tombstone that is taken as it stands stamps that the log does not contradict. */
  restampTombstone(id: string): void {
    const row = this.statements.tombstoneStamp.get(id);
    if (row === undefined) return;
    const { hlc, origin, origin_seq, seen } = this.stamps.settled(id, { ...row, seen: vectorOf(row.seen) });
    this.statements.restampTombstone.run(hlc, origin, origin_seq, JSON.stringify(seen), id);
  }

  /** What a disk did to a row must not become somebody's edit and reach other nodes as one. */
  private expectWhole(row: Memory, digest: Uint8Array | null): void {
    const whole =
      isDigest(digest, this.digests.of(row.id, memoryPayload(row))) && this.stamps.hold(row.id, row);
    if (!whole) throw new DamagedRowError(row.id);
  }

  private namespaceId(name: string): number {
    const known = this.namespaceIds.get(name);
    if (known !== undefined) return known;
    this.statements.addNamespace.run(name);
    const id = this.statements.namespaceId.get(name)!.ns_id;
    this.namespaceIds.set(name, id);
    return id;
  }
}
