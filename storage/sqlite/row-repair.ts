import type { DecisionContext, Mutation, StoredSubject } from '../../protocol/decide/decision.js';
import { type Link, linkId, linkPayload } from '../../protocol/link.js';
import type { MemoryRow } from '../../protocol/memory.js';
import type { ParkReason, WireOperation } from '../../protocol/mesh/wire.js';
import { headerHash, memoryPayload, type OperationHeader } from '../../protocol/operation-log.js';
import type { LoggedOperation } from '../../protocol/repair.js';
import { memoryOf } from '../../protocol/replica.js';
import type { Crypto } from '../../protocol/seams.js';
import type { Connection } from './connection.js';
import { isDigest } from './digests.js';
import { type LinkSqlRow, linkFromSql } from './link-sql.js';
import type { MemoryRows } from './memory-rows.js';
import { type OperationSqlRow, operationFromSql, vectorOf } from './operation-rows.js';
import type { QuotaLedger } from './quota-ledger.js';
import type { ReplicaRows } from './replica-rows.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from './rows.js';
import { Statements } from './statements.js';
import type { SubjectReads } from './subject-reads.js';

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

/** Reads what the tables hold of a subject, in whatever state that is. */
export class RepairReads {
  private readonly texts: Statements;

  constructor(
    db: Connection,
    private readonly crypto: Crypto,
    private readonly chain: Pick<SubjectReads, 'operationHash'>,
  ) {
    this.texts = new Statements(db);
  }

  /** Of an operation that is not what the chain demands its place alone is known. */
  log(subject: string): readonly LoggedOperation[] {
    const rows = this.texts
      .get('SELECT * FROM operations WHERE subject = ? ORDER BY commit_sequence')
      .all(subject) as OperationSqlRow[];
    return rows.map((row) => {
      const operation = operationFromSql(row);
      const parked = row.parked as ParkReason | null;
      if (!this.isChained(operation, parked)) {
        const kind = subject.includes('|') ? 'link' : 'update';
        return { ...operation, kind, seen: {}, payload: null, parked };
      }
      const { payload, payloadHash } = operation;
      const sound = payload !== null && this.crypto.sha256Hex(payload) === payloadHash;
      return { ...operation, payload: sound ? payload : null, parked };
    });
  }

  loggedHash(origin: string, seq: number): string | null {
    const row = this.texts
      .get('SELECT * FROM operations WHERE origin = ? AND origin_seq = ?')
      .get(origin, seq) as OperationSqlRow | undefined;
    return row === undefined ? null : headerHash(operationFromSql(row) as OperationHeader, this.crypto);
  }

  private isChained(operation: WireOperation, parked: ParkReason | null): boolean {
    // A history that was set aside is nobody's chain.
    if (parked === 'forked') return true;
    const hash = this.chain.operationHash(operation.origin, operation.seq);
    return hash === null || hash === headerHash(operation as OperationHeader, this.crypto);
  }

  stored(subject: string): StoredSubject {
    const held = this.texts.get(HELD).get(subject) as Held | undefined;
    const tombstone = this.texts
      .get(
        `SELECT hlc, origin, origin_seq AS seq, namespace, title, seen, kind, reason, expires_at AS expiresAt, version
         FROM tombstones WHERE id = ?`,
      )
      .get(subject) as (NonNullable<StoredSubject['tombstone']> & { readonly seen: never }) | undefined;
    const siblings = this.texts
      .get('SELECT origin, origin_seq AS seq FROM siblings WHERE subject = ?')
      .all(subject) as StoredSubject['siblings'];
    const link = this.link(subject);
    const memory = held === undefined ? null : this.memory(subject);
    return {
      exists: held !== undefined,
      memory,
      namespace: held?.counted ?? null,
      whole: link !== null ? link.whole : memory !== null && held !== undefined && this.whole(held, memory),
      tombstone: tombstone === undefined ? null : { ...tombstone, seen: vectorOf(tombstone.seen) },
      siblings,
      link,
    };
  }

  /** Null for a row that cannot even be read. */
  private memory(id: string): MemoryRow | null {
    const sql = this.texts.get(`SELECT ${SELECT_ROW} FROM memories m WHERE m.id = ?`).get(id) as SqlRow;
    try {
      return memoryFromSql(sql);
    } catch {
      return null;
    }
  }

  private whole(held: Held, memory: MemoryRow): boolean {
    const digest = this.crypto.sha256(`${memory.id}\n${memoryPayload(memory)}`);
    return isDigest(held.digest, digest) && held.indexed === 1 && held.counted === memory.namespace;
  }

  private link(subject: string): (NonNullable<StoredSubject['link']> & { readonly whole: boolean }) | null {
    const [source, target, relation, ...rest] = subject.split('|');
    if (source === undefined || target === undefined || relation === undefined || rest.length > 0)
      return null;
    const row = this.texts
      .get('SELECT * FROM memory_links WHERE source_id = ? AND target_id = ? AND relation = ?')
      .get(source, target, relation) as LinkSqlRow | undefined;
    if (row === undefined) return null;
    const link: Link = linkFromSql(row);
    const digest = this.crypto.sha256(`${linkId(link)}\n${linkPayload(link)}`);
    const stamp = { hlc: row.hlc, origin: row.origin, seq: row.origin_seq };
    const whole = isDigest(row.digest, digest);
    return { link, namespace: row.namespace, stamp, whole };
  }
}

/** Makes rows anew, whatever they are now. */
export class RowRepair {
  private readonly texts: Statements;

  constructor(
    db: Connection,
    private readonly memories: MemoryRows,
    private readonly replicas: ReplicaRows,
    private readonly quotas: QuotaLedger,
  ) {
    this.texts = new Statements(db);
  }

  /** A row that is made anew has a new number; its vectors are computed again. */
  rebuild(
    mutation: Extract<Mutation, { mutation: 'rebuild-memory' }>,
    { now }: Pick<DecisionContext, 'now'>,
  ): void {
    const { id, settled, siblings, archive } = mutation;
    const held = this.texts.get(HELD).get(id) as Held | undefined;
    const before = held === undefined ? null : this.readable(id);
    if (archive !== null && settled !== null) {
      const { hlc, origin, seq, covers: seen } = settled;
      const reason = settled.removal?.reason ?? '';
      this.memories.archive(archive, reason, { hlc, origin, origin_seq: seq, seen }, now);
    }
    // The name that its number stands for may be what is damaged.
    this.memories.forgetNamespaces();
    if (held !== undefined) this.memories.erase(held.rid, held);
    this.replicas.keepSiblings(id, siblings);
    if (settled === null) this.memories.unbury(id);
    else if (settled.image === null) {
      const { removal, hlc, origin, seq, covers: seen } = settled;
      const kept = this.texts.get('SELECT deleted_at FROM tombstones WHERE id = ?').get(id) as
        | { deleted_at: string }
        | undefined;
      const stamp = { hlc, origin, origin_seq: seq, seen };
      this.memories.bury(id, removal, stamp, kept?.deleted_at ?? now);
    } else {
      const memory = memoryOf(settled, before);
      const rid = this.memories.insert(memory, memoryPayload(memory), now);
      this.memories.leaveArchive(memory, rid);
      this.texts.get('UPDATE operations SET rid = ? WHERE subject = ?').run(rid, id);
    }
  }

  /** Takes the row of a memory, or its tombstone, as it stands. */
  accept(id: string, { now }: Pick<DecisionContext, 'now'>): void {
    const held = this.texts.get(HELD).get(id) as Held | undefined;
    if (held === undefined) {
      this.memories.restampTombstone(id);
      return;
    }
    const memory = this.readable(id);
    if (memory === null) return;
    const stamped = this.memories.restamped(memory);
    this.memories.forgetNamespaces();
    this.memories.erase(held.rid, held);
    const rid = this.memories.insert(stamped, memoryPayload(stamped), now);
    this.texts.get('UPDATE operations SET rid = ? WHERE subject = ?').run(rid, id);
  }

  /** Remembers what was found out. */
  note(name: string, facts: Readonly<Record<string, unknown>>, now: string): void {
    this.texts
      .get('INSERT OR REPLACE INTO integrity_notes (name, at, facts) VALUES (?, ?, ?)')
      .run(name, now, JSON.stringify(facts));
  }

  private readable(id: string): MemoryRow | null {
    try {
      const sql = this.texts.get(`SELECT ${SELECT_ROW} FROM memories m WHERE m.id = ?`).get(id) as SqlRow;
      return memoryFromSql(sql);
    } catch {
      return null;
    }
  }

  /** Sums up what the rows of a namespace use. */
  recountQuotas(namespace: string, now: string): void {
    this.quotas.recount(namespace, this.owned(namespace), now);
  }

  private *owned(namespace: string): Generator<MemoryRow> {
    const rows = this.texts
      .get(
        `SELECT ${SELECT_ROW} FROM memories m JOIN namespaces n ON n.ns_id = m.ns_id
         WHERE n.name = ? AND m.owner_id IS NOT NULL`,
      )
      .iterate(namespace) as IterableIterator<SqlRow>;
    for (const row of rows) {
      try {
        yield memoryFromSql(row);
      } catch {
        // A damaged row is counted when it is repaired.
      }
    }
  }
}
