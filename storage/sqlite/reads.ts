import { AGENTS_NAMESPACE } from '../../protocol/agent.js';
import type {
  DatabaseOwner,
  DecisionContext,
  LastEdit,
  MemoryLife,
  ReadRequest,
} from '../../protocol/decide/decision.js';
import type { MemoryImage } from '../../protocol/operation-log.js';
import type { Crypto } from '../../protocol/seams.js';
import {
  ARCHIVED_SEEN,
  ARCHIVED_VERSION,
  archivedRowFromSql,
  purgeableFromSql,
  SELECT_ARCHIVED,
} from './archive.js';
import type { Connection } from './connection.js';
import type { Digests } from './digests.js';
import { forgettable } from './forget.js';
import type { OperationLog } from './log.js';
import { vectorOf } from './operation-rows.js';
import { agentKey } from './queries/agents.js';
import type { QuotaLedger } from './quota-ledger.js';
import { RepairReads } from './row-repair.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from './rows.js';
import { Statements } from './statements.js';
import { SubjectReads } from './subject-reads.js';
import { NO_SUSPECT } from './suspects.js';

interface OwnerRow {
  holder: string;
  role: 'daemon' | 'mcp';
  fencing: number;
  expires_at_ms: number;
}

/** Loads the rows that decisions ask for, inside the write transaction. */
export class DecisionReads {
  private readonly byId;
  private readonly life;
  private readonly byTitle;
  private readonly titleExpiry;
  private readonly expired;
  private readonly oldestObservation;
  private readonly owner;
  private readonly envelope;
  private readonly texts;
  private readonly link;
  private readonly subjects;
  private readonly repair;

  constructor(
    db: Connection,
    private readonly quotas: QuotaLedger,
    private readonly log: OperationLog,
    private readonly digests: Digests,
    private readonly crypto: Crypto,
  ) {
    this.subjects = new SubjectReads(db, log);
    this.repair = new RepairReads(db, crypto, this.subjects);
    this.texts = new Statements(db);
    this.byId = db.prepare<[string], SqlRow>(`SELECT ${SELECT_ROW} FROM memories m WHERE m.id = ?`);
    this.life = db.prepare<[string], MemoryLife>(
      `SELECT id, tier, access_count, last_accessed_at, expires_at, life_at FROM memories m
       WHERE m.id = ? AND ${NO_SUSPECT}`,
    );
    this.byTitle = db.prepare<[string, string], SqlRow>(
      `SELECT ${SELECT_ROW} FROM memories m WHERE m.title = ? AND m.namespace = ? AND m.conflict_of IS NULL`,
    );
    this.titleExpiry = db.prepare<[string, string], { expires_at: string | null }>(
      'SELECT expires_at FROM memories WHERE title = ? AND namespace = ? AND conflict_of IS NULL',
    );
    this.expired = db.prepare<[string, number], SqlRow>(
      `SELECT ${SELECT_ROW} FROM memories m WHERE m.expires_at IS NOT NULL AND m.expires_at <= ?
         AND m.namespace <> '${AGENTS_NAMESPACE}' AND ${NO_SUSPECT} ORDER BY m.expires_at LIMIT ?`,
    );
    this.envelope = db.prepare<[string], { memory_id: string }>(
      'SELECT memory_id FROM write_envelopes WHERE fingerprint = ?',
    );
    this.oldestObservation = db.prepare<[], { observed_at: string }>(
      'SELECT observed_at FROM recall_observations ORDER BY seq LIMIT 1',
    );
    this.owner = db.prepare<[], OwnerRow>(
      'SELECT holder, role, fencing, expires_at_ms FROM database_owner WHERE singleton = 1',
    );
    this.link = db.prepare<[string, string, string], { found: number }>(
      'SELECT 1 AS found FROM memory_links WHERE source_id = ? AND target_id = ? AND relation = ?',
    );
  }

  answer(request: Exclude<ReadRequest, { read: 'after' }>, context: DecisionContext): unknown {
    switch (request.read) {
      case 'memory-by-id':
        return oneRow(this.byId.get(request.id));
      case 'memory-life':
        return this.life.get(request.id) ?? null;
      case 'memory-by-title':
        return oneRow(this.byTitle.get(request.title, request.namespace));
      case 'title-expiry':
        return this.titleExpiry.get(request.title, request.namespace) ?? null;
      case 'expired-memories':
        return this.expired.all(request.before, request.limit).map(memoryFromSql);
      case 'quota-use':
        return this.quotas.use(request.holder, request.namespace);
      case 'used-envelope':
        return this.envelope.get(request.fingerprint)?.memory_id ?? null;
      case 'agent-key':
        return agentKey(this.texts, request.agentId);
      case 'oldest-observation':
        return this.oldestObservation.get()?.observed_at ?? null;
      case 'database-owner':
        return ownerFromSql(this.owner.get());
      case 'archived-memory': {
        this.subjects.tombstone(request.id);
        const row = this.texts
          .get(
            `SELECT ${SELECT_ARCHIVED}, ${ARCHIVED_SEEN} AS subject_seen, ${ARCHIVED_VERSION} AS subject_version
             FROM archived_memories a WHERE a.id = ?`,
          )
          .get(request.id) as SqlRow | undefined;
        return row === undefined ? null : archivedRowFromSql(row);
      }
      case 'purgeable-memories':
        return this.purgeable(request);
      case 'forgettable-memories': {
        const filter = forgettable(request.filter, context.now);
        const rows = this.texts
          .get(
            `SELECT ${SELECT_ROW} FROM memories m WHERE ${filter.sql} AND ${NO_SUSPECT}
             ORDER BY m.rid LIMIT @limit`,
          )
          .all({ ...filter.parameters, limit: request.limit }) as SqlRow[];
        return rows.map(memoryFromSql);
      }
      case 'last-edit':
        return this.lastEdit(request.id);
      case 'tombstone': {
        const row = this.subjects.tombstone(request.id);
        return row === null ? null : { seen: vectorOf(row.seen), deleted_at: row.deleted_at };
      }
      case 'link-exists': {
        const { source_id, target_id, relation } = request.link;
        return this.link.get(source_id, target_id, relation) !== undefined;
      }
      case 'log-origin':
        return this.log.own();
      case 'origin-head':
        return this.log.unwrittenEnd(request.origin) ?? this.subjects.originHead(request.origin);
      case 'operation-hash':
        this.log.flush();
        return this.subjects.operationHash(request.origin, request.seq);
      case 'parked-reason':
        return this.subjects.parkedReason(request.origin, request.seq);
      case 'nonce-used':
        return this.subjects.nonceUsed(request.peerId, request.fingerprint);
      case 'subject-versions':
        return this.subjects.versions(request.id);
      case 'subject-history':
        return this.subjects.history(request.id);
      case 'subject-namespaces':
        return this.subjects.namespaces(request.id);
      case 'subject-places':
        return this.subjects.places(request.id);
      case 'link-stamp':
        return this.subjects.linkStamp(request.link);
      case 'epoch-notices':
        return this.subjects.epochNotices(request.origin);
      case 'renamed-whole':
        return this.subjects.renamedWhole(request);
      case 'logged-hash':
        return this.repair.loggedHash(request.origin, request.seq);
      case 'is-logged':
        return this.subjects.isLogged(request.origin, request.seq);
      case 'subjects-beyond':
        return this.subjects.subjectsBeyond(request.origin, request.seq);
      case 'parked-operations':
        return this.subjects.parked(request);
      case 'subject-log':
        this.log.flush();
        return this.repair.log(request.subject);
      case 'stored-subject':
        return this.repair.stored(request.subject);
      case 'digest-holds':
        return this.digests.holds(request.namespace);
    }
  }

  private purgeable(request: Extract<ReadRequest, { read: 'purgeable-memories' }>) {
    const { before, ownerId, limit } = request;
    const owned = ownerId === null ? '' : ' AND a.owner_id = @owner';
    const rows = this.texts
      .get(
        `SELECT a.id, a.namespace, a.archived_at, ${ARCHIVED_SEEN} AS subject_seen FROM archived_memories a
         WHERE a.archived_at <= @before${owned} AND a.id NOT IN (SELECT subject FROM suspects)
         ORDER BY a.archived_at, a.id LIMIT @limit`,
      )
      .all({ before, limit, ...(ownerId === null ? {} : { owner: ownerId }) }) as SqlRow[];
    return rows.map((row) => {
      this.subjects.tombstone(String(row['id']));
      return purgeableFromSql(row);
    });
  }

  private lastEdit(id: string): LastEdit | null {
    const edit = this.texts
      .get(
        `SELECT commit_sequence, payload, payload_hash FROM operations WHERE subject = @id AND kind = 'update' AND commit_sequence >
           (SELECT coalesce(max(commit_sequence), 0) FROM operations WHERE subject = @id AND kind = 'store')
         ORDER BY commit_sequence DESC LIMIT 1`,
      )
      .get({ id }) as (LoggedImage & { commit_sequence: number }) | undefined;
    if (edit === undefined) return null;
    const before = this.texts
      .get(
        `SELECT payload, payload_hash FROM operations WHERE subject = ? AND commit_sequence < ?
           AND kind IN ('store', 'update', 'promote', 'life', 'restore') ORDER BY commit_sequence DESC LIMIT 1`,
      )
      .get(id, edit.commit_sequence) as LoggedImage | undefined;
    return { before: before === undefined ? null : this.imageOf(before), after: this.imageOf(edit) };
  }

  /** The post-image of a payload; null where the log has let it go, or lost it. */
  private imageOf({ payload, payload_hash }: LoggedImage): MemoryImage | null {
    const sound = payload !== null && this.crypto.sha256Hex(payload) === payload_hash;
    return sound ? (JSON.parse(payload) as MemoryImage) : null;
  }
}

interface LoggedImage {
  readonly payload: string | null;
  readonly payload_hash: string;
}

function oneRow(row: SqlRow | undefined) {
  return row === undefined ? null : memoryFromSql(row);
}

function ownerFromSql(row: OwnerRow | undefined): DatabaseOwner | null {
  if (row === undefined) return null;
  return { holder: row.holder, role: row.role, fencing: row.fencing, expiresAtMs: row.expires_at_ms };
}
