import { EMBED_STATES } from '../../protocol/commands.js';
import type { DecisionContext, Mutation } from '../../protocol/decide/decision.js';
import { USED_ENVELOPE_KEPT_MS } from '../../protocol/limits.js';
import { linkId, linkPayload } from '../../protocol/link.js';
import type { Memory, MemoryRow } from '../../protocol/memory.js';
import {
  memoryPayload,
  type OperationKind,
  purgePayload,
  removalPayload,
} from '../../protocol/operation-log.js';
import type { AuditChain } from './audit-chain.js';
import type { Connection } from './connection.js';
import type { OperationLog } from './log.js';
import { ObservationLedger } from './observations.js';
import type { QuotaLedger } from './quota-ledger.js';
import { memoryToSql, ROW_COLUMNS } from './rows.js';

const ARCHIVE_COLUMNS = ROW_COLUMNS.join(', ');

/** Applies typed mutations inside the write transaction; the only code that changes rows. */
export class Mutations {
  private readonly statements;
  private readonly observations;
  private readonly namespaceIds = new Map<string, number>();

  constructor(
    db: Connection,
    private readonly log: OperationLog,
    private readonly quotas: QuotaLedger,
    /** Null where nothing is done in anybody's name: in migrations. */
    private readonly audit: AuditChain | null,
  ) {
    this.observations = new ObservationLedger(db);
    const assignments = ROW_COLUMNS.filter((column) => column !== 'id').map((column) => `${column} = ?`);
    this.statements = {
      insert: db.prepare(
        `INSERT INTO memories (${ROW_COLUMNS.join(', ')}, ns_id)
         VALUES (${ROW_COLUMNS.map(() => '?').join(', ')}, ?)`,
      ),
      index: db.prepare('INSERT INTO memories_fts (rowid, title, content, tags, nst) VALUES (?, ?, ?, ?, ?)'),
      replace: db.prepare(
        `UPDATE memories SET ${assignments.join(', ')}, ns_id = ?, embed_state = iif(?, 0, embed_state),
           life_at = coalesce(?, life_at) WHERE id = ?`,
      ),
      // A write that leaves the text alone must not reach the full-text trigger.
      replaceUnindexed: db.prepare(
        `UPDATE memories SET tier = ?, expires_at = ?, updated_at = ?, version = ?, hlc = ?, origin = ?,
           origin_seq = ?, seen = ?, life_at = coalesce(?, life_at) WHERE id = ?`,
      ),
      remove: db.prepare('DELETE FROM memories WHERE rid = ?'),
      dropEmbedding: db.prepare('DELETE FROM memory_embeddings WHERE rid = ?'),
      dropLinks: db.prepare('DELETE FROM memory_links WHERE source_id = ? OR target_id = ?'),
      archive: db.prepare(
        `INSERT OR REPLACE INTO archived_memories
           (${ARCHIVE_COLUMNS}, archived_at, archive_reason, embedding, embedding_dim, embedding_model,
            original_tier, original_expires_at)
         SELECT ${ROW_COLUMNS.map((column) => `m.${column}`).join(', ')}, ?, ?, e.vectors, e.dim, e.model, m.tier, m.expires_at
         FROM memories m LEFT JOIN memory_embeddings e ON e.rid = m.rid WHERE m.rid = ?`,
      ),
      tombstone: db.prepare(
        `INSERT OR REPLACE INTO tombstones (id, namespace, title, deleted_at, hlc, origin, origin_seq, seen)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      dropTombstone: db.prepare('DELETE FROM tombstones WHERE id = ?'),
      // What was deleted stays deleted since then; only what the subject has seen moves on.
      stampTombstone: db.prepare(
        `INSERT INTO tombstones (id, namespace, title, deleted_at, hlc, origin, origin_seq, seen)
         SELECT id, namespace, title, archived_at, @hlc, @origin, @origin_seq, @seen FROM archived_memories WHERE id = @id
         ON CONFLICT (id) DO UPDATE SET hlc = excluded.hlc, origin = excluded.origin,
           origin_seq = excluded.origin_seq, seen = excluded.seen`,
      ),
      // Vectors without the name of their model cannot be compared; such a row is embedded again.
      restoreEmbedding: db.prepare(
        `INSERT INTO memory_embeddings (rid, model, dim, vectors)
         SELECT ?, embedding_model, embedding_dim, embedding FROM archived_memories
         WHERE id = ? AND embedding IS NOT NULL AND embedding_dim IS NOT NULL AND embedding_model IS NOT NULL`,
      ),
      dropArchived: db.prepare('DELETE FROM archived_memories WHERE id = ?'),
      rid: db.prepare<[string], { rid: number }>('SELECT rid FROM memories WHERE id = ?'),
      countAccess: db.prepare('UPDATE memories SET access_count = ?, last_accessed_at = ? WHERE id = ?'),
      embedState: db.prepare('UPDATE memories SET embed_state = ? WHERE rid = ?'),
      putEmbedding: db.prepare(
        // The feed number is drawn anew and never given twice, so followers see every change.
        'INSERT OR REPLACE INTO memory_embeddings (rid, model, dim, vectors) VALUES (?, ?, ?, ?)',
      ),
      putOwner: db.prepare(
        `INSERT OR REPLACE INTO database_owner (singleton, holder, role, fencing, expires_at_ms)
         VALUES (1, ?, ?, ?, ?)`,
      ),
      useEnvelope: db.prepare(
        'INSERT INTO write_envelopes (fingerprint, memory_id, expires_at_ms) VALUES (?, ?, ?)',
      ),
      dropEnvelopes: db.prepare('DELETE FROM write_envelopes WHERE expires_at_ms < ?'),
      insertLink: db.prepare(
        `INSERT INTO memory_links (source_id, target_id, relation, created_at, valid_from, valid_until, observed_by,
           signature, attest_level, signed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      addNamespace: db.prepare('INSERT OR IGNORE INTO namespaces (name) VALUES (?)'),
      namespaceId: db.prepare<[string], { ns_id: number }>('SELECT ns_id FROM namespaces WHERE name = ?'),
    };
  }

  /** Forgets interned namespaces, because the transaction that made them was rolled back. */
  forgetNamespaces(): void {
    this.namespaceIds.clear();
  }

  /** Applies one mutation; answers the memory as stored, stamps included, for those that write one. */
  apply(mutation: Mutation, context: DecisionContext): Memory | null {
    switch (mutation.mutation) {
      case 'insert-memory':
        return this.insertMemory(mutation.memory, mutation.operation, context);
      case 'replace-memory':
        return this.replaceMemory(mutation, context);
      case 'remove-memory':
        this.removeMemory(mutation, context);
        return null;
      case 'count-access':
        this.statements.countAccess.run(mutation.accessCount, mutation.lastAccessedAt, mutation.id);
        return null;
      case 'put-embedding':
        this.putEmbedding(mutation);
        return null;
      case 'charge-quota': {
        const { limits, memories, links } = mutation;
        this.quotas.charge(mutation, limits, { memories, links }, context.now);
        return null;
      }
      case 'use-envelope':
        this.statements.dropEnvelopes.run(context.nowMs - USED_ENVELOPE_KEPT_MS);
        this.statements.useEnvelope.run(mutation.fingerprint, mutation.memoryId, mutation.expiresAtMs);
        return null;
      case 'append-audit':
        this.audit?.append(mutation.event, context.now);
        return null;
      case 'record-recall':
        this.observations.record(mutation.observation);
        return null;
      case 'consume-recall':
        this.observations.consume(mutation.consumption);
        return null;
      case 'prune-observations':
        this.observations.prune(mutation.before, mutation.limit);
        return null;
      case 'put-database-owner': {
        const { holder, role, fencing, expiresAtMs } = mutation.owner;
        this.statements.putOwner.run(holder, role, fencing, expiresAtMs);
        return null;
      }
      case 'restore-memory':
        return this.restoreMemory(mutation.memory, context);
      case 'purge-archived':
        this.purgeArchived(mutation, context);
        return null;
      case 'insert-link':
        this.insertLink(mutation, context);
        return null;
    }
  }

  private insertMemory(memory: Memory, kind: OperationKind, context: DecisionContext): Memory {
    const stamp = this.log.stamp(memory.seen, context.nowMs);
    // A row that comes back was created when it was first stored.
    const created_hlc = kind === 'restore' && memory.created_hlc !== '' ? memory.created_hlc : stamp.hlc;
    const stamped: Memory = { ...memory, ...stamp, created_hlc };
    const nsId = this.namespaceId(memory.namespace);
    const inserted = this.statements.insert.run(...memoryToSql(stamped), nsId);
    // What has seen something was deleted before, and lives again.
    if (Object.keys(memory.seen).length > 0) this.statements.dropTombstone.run(memory.id);
    const rid = Number(inserted.lastInsertRowid);
    this.statements.index.run(
      inserted.lastInsertRowid,
      memory.title,
      memory.content,
      JSON.stringify(memory.tags),
      `n${nsId}`,
    );
    this.quotas.count(null, stamped, context.now);
    this.log.append(stamp, {
      kind,
      namespace: memory.namespace,
      subject: memory.id,
      seen: memory.seen,
      payload: memoryPayload(stamped),
      rid,
    });
    return stamped;
  }

  private replaceMemory(
    mutation: Extract<Mutation, { mutation: 'replace-memory' }>,
    context: DecisionContext,
  ): Memory {
    const { memory } = mutation;
    const stamp = this.log.stamp(memory.seen, context.nowMs);
    const stamped: Memory = { ...memory, ...stamp };
    const lifeAt = mutation.lifeAt ?? null;
    if (mutation.operation === 'update') {
      const [, ...values] = memoryToSql(stamped);
      this.statements.replace.run(
        ...values,
        this.namespaceId(memory.namespace),
        mutation.reembed ? 1 : 0,
        lifeAt,
        memory.id,
      );
    } else {
      this.statements.replaceUnindexed.run(
        stamped.tier,
        stamped.expires_at,
        stamped.updated_at,
        stamped.version,
        stamped.hlc,
        stamped.origin,
        stamped.origin_seq,
        JSON.stringify(stamped.seen),
        lifeAt,
        memory.id,
      );
    }
    if (mutation.operation === 'update') this.quotas.count(mutation.before, stamped, context.now);
    const rid = this.statements.rid.get(memory.id)!.rid;
    if (mutation.reembed) this.statements.dropEmbedding.run(rid);
    this.log.append(stamp, {
      kind: mutation.operation,
      namespace: memory.namespace,
      subject: memory.id,
      seen: memory.seen,
      payload: memoryPayload(stamped),
      rid,
    });
    return stamped;
  }

  private removeMemory(
    mutation: Extract<Mutation, { mutation: 'remove-memory' }>,
    context: DecisionContext,
  ): void {
    const row: MemoryRow = mutation.memory;
    const stamp = this.log.stamp(row.seen, context.nowMs);
    if (mutation.archive) this.statements.archive.run(context.now, mutation.reason, row.rid);
    this.statements.dropEmbedding.run(row.rid);
    this.statements.dropLinks.run(row.id, row.id);
    this.statements.remove.run(row.rid);
    this.quotas.count(row, null, context.now);
    this.statements.tombstone.run(
      row.id,
      row.namespace,
      row.title,
      context.now,
      stamp.hlc,
      stamp.origin,
      stamp.origin_seq,
      JSON.stringify(stamp.seen),
    );
    this.log.append(stamp, {
      kind: mutation.operation,
      namespace: row.namespace,
      subject: row.id,
      seen: row.seen,
      payload: removalPayload(row, mutation.reason),
      rid: row.rid,
    });
  }

  /** The archived row leaves the archive with its vectors; its tombstone goes, because it lives again. */
  private restoreMemory(memory: Memory, context: DecisionContext): Memory {
    const stamped = this.insertMemory(memory, 'restore', context);
    const rid = this.statements.rid.get(memory.id)!.rid;
    if (this.statements.restoreEmbedding.run(rid, memory.id).changes > 0) {
      this.statements.embedState.run(EMBED_STATES.embedded, rid);
    }
    this.statements.dropArchived.run(memory.id);
    this.statements.dropTombstone.run(memory.id);
    return stamped;
  }

  private purgeArchived(
    { row, reason }: Extract<Mutation, { mutation: 'purge-archived' }>,
    context: DecisionContext,
  ): void {
    const stamp = this.log.stamp(row.seen, context.nowMs);
    // A live row of the same id, which an import may have made, has no tombstone and gets none.
    if (this.statements.rid.get(row.id) === undefined) {
      this.statements.stampTombstone.run({ ...stamp, seen: JSON.stringify(stamp.seen), id: row.id });
    }
    this.statements.dropArchived.run(row.id);
    this.log.append(stamp, {
      kind: 'purge',
      namespace: row.namespace,
      subject: row.id,
      seen: row.seen,
      payload: purgePayload(row, row.archivedAt, reason),
      rid: null,
    });
  }

  private insertLink(
    mutation: Extract<Mutation, { mutation: 'insert-link' }>,
    context: DecisionContext,
  ): void {
    const { link, namespace, rid } = mutation;
    const stamp = this.log.stamp({}, context.nowMs);
    this.statements.insertLink.run(
      link.source_id,
      link.target_id,
      link.relation,
      link.created_at,
      link.valid_from,
      link.valid_until,
      link.observed_by,
      link.signature === null ? null : Buffer.from(link.signature, 'base64'),
      link.attest_level,
      link.signed_at,
    );
    const payload = linkPayload(link);
    this.log.append(stamp, { kind: 'link', namespace, subject: linkId(link), seen: {}, payload, rid });
  }

  private putEmbedding(mutation: Extract<Mutation, { mutation: 'put-embedding' }>): void {
    this.statements.embedState.run(mutation.state, mutation.rid);
    if (mutation.state === EMBED_STATES.embedded && mutation.vectors !== null) {
      this.statements.putEmbedding.run(mutation.rid, mutation.model, mutation.dim, mutation.vectors);
    } else {
      this.statements.dropEmbedding.run(mutation.rid);
    }
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
