import type { Row, RowStamp } from '../../../protocol/decide/rows.js';
import { editStamp, type LiveVersion, type Settled } from '../../../protocol/kinds/version.js';
import { EMBED_STATES } from '../../../protocol/memory/embed-state.js';
import type { Memory, MemoryRow } from '../../../protocol/memory/memory.js';
import {
  type MemoryImage,
  memoryKind,
  memoryOf,
  memoryPayload,
} from '../../../protocol/memory/memory-kind.js';
import type { Connection } from '../connection.js';
import { DamagedRowError } from '../damage.js';
import { type Digests, isDigest } from '../digests.js';
import { EncoderLedger } from '../encoders.js';
import type { QuotaLedger } from '../quota-ledger.js';
import { memoryFromSql, memoryToSql, ROW_COLUMNS, SELECT_ROW, type SqlRow } from '../rows.js';
import type { Stamps } from '../stamps.js';
import { TextIndex } from '../text-index.js';
import { TitleSlots } from '../title-slots.js';
import { replacing } from '../upsert.js';
import type { Place, Replacement, SubjectTable, Written } from './subject-table.js';

interface Held {
  readonly rid: number;
  readonly title: string;
  readonly namespace: string;
  readonly counted: string | null;
  readonly digest: Uint8Array | null;
  readonly indexed: number;
}

const HELD = `SELECT m.rid, m.title, m.namespace, n.name AS counted, m.digest,
    EXISTS (SELECT 1 FROM memories_fts_docsize d WHERE d.id = m.rid) AS indexed
  FROM memories m LEFT JOIN namespaces n ON n.ns_id = m.ns_id WHERE m.id = ?`;

/** The columns of an archived copy, in the order in which it is written. */
const ARCHIVED_COLUMNS = [
  ...[...ROW_COLUMNS, 'archived_at', 'archive_reason', 'original_tier', 'original_expires_at'],
  ...['embedding', 'embedding_dim', 'embedding_model'],
];

/**
 * The rows of memories with everything attached to them: full text, vectors, archive, titles, quotas and digests. Local
 * writes and replicated writes both use it.
 */
export class MemoryTable implements SubjectTable {
  private readonly statements;
  readonly titles;
  readonly texts: TextIndex;
  private readonly encoders;
  private readonly namespaceIds = new Map<string, number>();

  constructor(
    private readonly db: Connection,
    private readonly quotas: QuotaLedger,
    private readonly digests: Digests,
    private readonly stamps: Stamps,
  ) {
    this.titles = new TitleSlots(db);
    this.texts = new TextIndex(db);
    this.encoders = new EncoderLedger(db);
    const assignments = ROW_COLUMNS.filter((column) => column !== 'id').map((column) => `${column} = ?`);
    this.statements = {
      row: db.prepare<[string], SqlRow>(`SELECT ${SELECT_ROW} FROM memories m WHERE m.id = ?`),
      held: db.prepare<[string], Held>(HELD),
      insert: db.insertion(
        `INSERT INTO memories (${ROW_COLUMNS.join(', ')}, ns_id, digest, conflict_of)
         VALUES (${ROW_COLUMNS.map(() => '?').join(', ')}, ?, ?, ?)`,
        'rid',
      ),
      insertNumbered: db.prepare(
        `INSERT INTO memories (${ROW_COLUMNS.join(', ')}, ns_id, digest, conflict_of, rid)
         VALUES (${ROW_COLUMNS.map(() => '?').join(', ')}, ?, ?, ?, ?)`,
      ),
      replace: db.prepare(
        `UPDATE memories SET ${assignments.join(', ')}, ns_id = ?, digest = ?, embed_state = iif(?, 0, embed_state),
           life_at = coalesce(?, life_at), conflict_of = ? WHERE id = ?`,
      ),
      // A write that does not change the text leaves the columns that the full text holds.
      replaceUnindexed: db.prepare(
        `UPDATE memories SET tier = ?, expires_at = ?, updated_at = ?, version = ?, edited = ?, hlc = ?, origin = ?,
           origin_seq = ?, seen = ?, digest = ?, life_at = coalesce(?, life_at) WHERE id = ?`,
      ),
      remove: db.prepare('DELETE FROM memories WHERE rid = ?'),
      dropEmbedding: db.prepare('DELETE FROM memory_embeddings WHERE rid = ?'),
      dropFlags: db.prepare('DELETE FROM near_duplicates WHERE rid = @rid OR other_rid = @rid'),
      archive: db.prepare(
        `INSERT INTO archived_memories (${ARCHIVED_COLUMNS.join(', ')})
         SELECT ${ROW_COLUMNS.map(() => '?').join(', ')}, ?, ?, ?, ?, e.vectors, e.dim, e.model
         FROM (SELECT 1) AS one LEFT JOIN (SELECT vectors, dim, model FROM memories m
           JOIN memory_embeddings e ON e.rid = m.rid WHERE m.id = ? AND m.title = ? AND m.content = ?) e ON TRUE
         WHERE TRUE ${replacing(['id'], ARCHIVED_COLUMNS)}`,
      ),
      local: db.prepare<[string], { access_count: number; last_accessed_at: string | null }>(
        'SELECT access_count, last_accessed_at FROM memories WHERE id = ?',
      ),
      // Vectors without a model name cannot be compared; such a row is embedded again.
      restoreEmbedding: db.prepare(
        `INSERT INTO memory_embeddings (rid, model, dim, vectors)
         SELECT ?, embedding_model, embedding_dim, embedding FROM archived_memories
         WHERE id = ? AND embedding IS NOT NULL AND embedding_dim IS NOT NULL AND embedding_model IS NOT NULL
           AND embedding_model = coalesce(?, embedding_model)
           AND title = ? AND content = ?`,
      ),
      dropArchived: db.prepare('DELETE FROM archived_memories WHERE id = ?'),
      state: db.prepare<[string], { rid: number; digest: Uint8Array | null; conflict_of: string | null }>(
        'SELECT rid, digest, conflict_of FROM memories WHERE id = ?',
      ),
      embedState: db.prepare('UPDATE memories SET embed_state = ? WHERE rid = ?'),
      addNamespace: db.prepare('INSERT INTO namespaces (name) VALUES (?) ON CONFLICT DO NOTHING'),
      namespaceId: db.prepare<[string], { ns_id: number }>('SELECT ns_id FROM namespaces WHERE name = ?'),
    };
  }

  /** Clears the cache of interned namespaces, because the transaction that made them was rolled back. */
  forgetNamespaces(): void {
    this.namespaceIds.clear();
  }

  row(id: string): Row<MemoryRow> | null {
    const sql = this.statements.row.get(id);
    return sql === undefined ? null : rowOf(memoryFromSql(sql));
  }

  stored(id: string): ReturnType<SubjectTable['stored']> {
    const held = this.statements.held.get(id);
    if (held === undefined) return { exists: false, row: null, counted: null, whole: false };
    const row = this.readable(id);
    const whole =
      row !== null &&
      isDigest(held.digest, this.digests.of(id, memoryPayload(row.image))) &&
      held.indexed === 1 &&
      held.counted === row.namespace;
    return { exists: true, row, counted: held.counted, whole };
  }

  /** A restored row keeps its creation stamp. Edits set the edit stamp; reads and promotions do not. */
  stamped(image: object, word: string, { hlc, origin, origin_seq: seq }: RowStamp): object {
    const memory = image as Memory;
    const isEdit = word === 'store' || word === 'update' || word === 'restore';
    const edited = isEdit ? editStamp({ hlc, origin, seq }) : memory.edited;
    const created = word === 'store' || (word === 'restore' && memory.created_hlc === '');
    return { ...memory, edited, created_hlc: created ? hlc : memory.created_hlc };
  }

  ofVersion(settled: Settled & { readonly image: object }, before: object | null): object {
    return memoryOf(settled as LiveVersion<MemoryImage>, before as Memory | null);
  }

  insert(_place: Place, { image, text, stamp }: Written, now: string): number {
    const memory: Memory = { ...(image as Memory), ...stamp };
    const nsId = this.namespaceId(memory.namespace);
    const digest = this.digests.of(memory.id, text);
    const rival = this.titles.rivalOf(memory.id, memory.title, memory.namespace);
    const values = [...memoryToSql(memory), nsId, digest, rival];
    const next = this.db.nextRid();
    if (next !== null) this.statements.insertNumbered.run(...values, next);
    const rid = next ?? this.statements.insert(...values);
    if (rival !== null) this.titles.settle(memory.title, memory.namespace);
    this.texts.add(rid, indexedColumns(memory, nsId));
    this.digests.join(memoryKind.name, memory.namespace, digest);
    this.quotas.count(null, memory, now);
    return rid;
  }

  replace(
    { image: held }: Row,
    _place: Place,
    { image, text, stamp }: Written,
    { reindex, reembed, lifeAt }: Replacement,
    now: string,
  ): number {
    const before = held as MemoryRow;
    const memory: Memory = { ...(image as Memory), ...stamp };
    const state = this.statements.state.get(memory.id)!;
    this.expectWhole(before, state.digest);
    const digest = this.digests.of(memory.id, text);
    const moved = before.title !== memory.title || before.namespace !== memory.namespace;
    const stale = reembed ?? (before.title !== memory.title || before.content !== memory.content);
    if (reindex ?? isTextChanged(before, memory, text)) {
      const rival = moved
        ? this.titles.rivalOf(memory.id, memory.title, memory.namespace)
        : state.conflict_of;
      const [, ...values] = memoryToSql(memory);
      const nsId = this.namespaceId(memory.namespace);
      this.statements.replace.run(...values, nsId, digest, stale ? 1 : 0, lifeAt ?? null, rival, memory.id);
      this.texts.replace(state.rid, indexedColumns(memory, nsId));
      this.quotas.count(before, memory, now);
    } else this.replaceUnindexed(memory, digest, lifeAt ?? null);
    if (moved) {
      this.titles.settle(before.title, before.namespace);
      this.titles.settle(memory.title, memory.namespace);
    } else if (before.created_hlc !== memory.created_hlc) {
      this.titles.settle(memory.title, memory.namespace);
    }
    this.digests.leave(memoryKind.name, before.namespace, state.digest);
    this.digests.join(memoryKind.name, memory.namespace, digest);
    if (stale) this.dropVectors(state.rid);
    if (stale || moved) this.statements.dropFlags.run({ rid: state.rid });
    return state.rid;
  }

  private replaceUnindexed(memory: Memory, digest: Uint8Array, lifeAt: string | null): void {
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
      lifeAt,
      memory.id,
    );
  }

  remove({ image }: Row, now: string): number {
    const row = image as MemoryRow;
    const { digest } = this.statements.state.get(row.id)!;
    this.expectWhole(row, digest);
    this.dropVectors(row.rid);
    this.statements.remove.run(row.rid);
    this.titles.settle(row.title, row.namespace);
    this.digests.leave(memoryKind.name, row.namespace, digest);
    this.quotas.count(row, null, now);
    return row.rid;
  }

  erase(id: string): void {
    // The row of its interned namespace may be the damage.
    this.forgetNamespaces();
    const held = this.statements.held.get(id);
    if (held === undefined) return;
    this.dropVectors(held.rid);
    this.statements.remove.run(held.rid);
    this.titles.settle(held.title, held.namespace);
    this.digests.leave(memoryKind.name, held.counted ?? held.namespace, held.digest);
  }

  /** Copies the vectors too, when they belong to the text. */
  keepCopy(image: object, reason: string, stamp: RowStamp, now: string): void {
    const memory = image as MemoryImage;
    const { id, title, content } = memory;
    const local = this.statements.local.get(id) ?? { access_count: 0, last_accessed_at: null };
    this.statements.archive.run(
      ...memoryToSql({ ...memory, ...local, ...stamp }),
      now,
      reason,
      memory.tier,
      memory.expires_at,
      id,
      title,
      content,
    );
  }

  /** A row that lives again takes its vectors back from the archive, when they belong to its text. */
  takeBack(image: object, rid: number): void {
    const { id, title, content } = image as Memory;
    // Vectors of another encoder are not searched.
    const model = this.encoders.read().searched?.model ?? null;
    if (this.statements.restoreEmbedding.run(rid, id, model, title, content).changes > 0) {
      this.statements.embedState.run(EMBED_STATES.embedded, rid);
    }
    this.dropArchived(id);
  }

  dropArchived(id: string): void {
    this.statements.dropArchived.run(id);
  }

  private dropVectors(rid: number): void {
    this.statements.dropEmbedding.run(rid);
    this.encoders.forget(rid);
  }

  /** Null for a row that cannot be read. */
  private readable(id: string): Row<MemoryRow> | null {
    try {
      return this.row(id);
    } catch {
      return null;
    }
  }

  /** Throws for a damaged row, because damage must not become an edit and reach other nodes. */
  private expectWhole(row: Memory, digest: Uint8Array | null): void {
    const whole =
      isDigest(digest, this.digests.of(row.id, memoryPayload(row))) &&
      this.stamps.hold(memoryKind.name, row.id, row);
    if (!whole) throw new DamagedRowError(memoryKind.name, row.id);
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

/** False when only tier, expiry, date, version and stamps changed: then the full text stays as it is. */
function isTextChanged(
  before: Memory,
  { tier, expires_at, updated_at, version, edited }: Memory,
  payload: string,
) {
  return memoryPayload({ ...before, tier, expires_at, updated_at, version, edited }) !== payload;
}

const indexedColumns = ({ title, content, tags }: Memory, nsId: number) => ({
  title,
  content,
  tags: JSON.stringify(tags),
  ns_id: nsId,
});

function rowOf(image: MemoryRow): Row<MemoryRow> {
  const { id, namespace, hlc, origin, origin_seq, seen } = image;
  return { id, namespace, image, stamp: { hlc, origin, origin_seq, seen } };
}
