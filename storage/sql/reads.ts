import type { Crypto } from '../../protocol/base/seams.js';
import { signatureHolds } from '../../protocol/coordination/reads.js';
import { holdsFor } from '../../protocol/coordination/signed.js';
import type { DecisionContext } from '../../protocol/decide/deciding.js';
import { handles, type ReadHandler, ReadHandlers } from '../../protocol/decide/handlers.js';
import { lastNumberOf, localRowCount, localRowsOf } from '../../protocol/decide/local-rows.js';
import type { Asked, ReadRequest } from '../../protocol/decide/reads.js';
import {
  digestOfText,
  ownOrigin,
  recordsWith,
  subjectRow,
  tombstoneOf,
  versionsOf,
} from '../../protocol/decide/reads.js';
import type { DatabaseOwner } from '../../protocol/decide/rows.js';
import { leadsBack, linkCount, sourcesOf } from '../../protocol/graph/reads.js';
import { AGENTS_NAMESPACE } from '../../protocol/identity/agent.js';
import { boundKeyOf, quotaUseOf, usedEnvelope, writtenBytes } from '../../protocol/identity/reads.js';
import type { Subject } from '../../protocol/kinds/kind.js';
import { parsedObject } from '../../protocol/kinds/payload.js';
import type { OperationPlace } from '../../protocol/log/ranges.js';
import {
  comingIncomplete,
  databaseOwner,
  encodersInUse,
  ridsAfter,
  waitingTexts,
} from '../../protocol/maintenance/reads.js';
import type { ArchivedRow } from '../../protocol/memory/archived-memory.js';
import type { ForgetFilter } from '../../protocol/memory/forget-filter.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import { type MemoryImage, memoryKind } from '../../protocol/memory/memory-kind.js';
import type { LastEdit, MemoryLife } from '../../protocol/memory/reads.js';
import {
  archivedMemory,
  expiredMemories,
  forgettableMemories,
  imageOfVersion,
  imageWrittenBy,
  lastEditOf,
  memoryLife,
  memoryRead,
  purgeableMemories,
  removableForRoom,
  titleExpiryOf,
  titleRead,
} from '../../protocol/memory/reads.js';
import { standardKind } from '../../protocol/memory/standard-kind.js';
import { hasPolicies, holdsOthers, standardsOf } from '../../protocol/namespaces/reads.js';
import { personaVersionOf } from '../../protocol/personas/reads.js';
import { openPendings, refusalsNoted, scopeOfAuthor } from '../../protocol/policies/reads.js';
import { reflectionCount } from '../../protocol/reflections/reads.js';
import {
  digestHolds,
  epochNotices,
  historyOf,
  isLogged,
  logAhead,
  loggedHash,
  logOf,
  namespacesOf,
  nonceUsed,
  operationHash,
  originHead,
  originsOf,
  parkedOperations,
  parkedReason,
  placesOf,
  renamedWhole,
  storedSubject,
  subjectsBeyond,
  writesAlone,
} from '../../protocol/replication/reads.js';
import { rulesOn } from '../../protocol/rules/reads.js';
import {
  ARCHIVED_SEEN,
  ARCHIVED_VERSION,
  archivedRowFromSql,
  purgeableFromSql,
  SELECT_ARCHIVED,
} from './archive.js';
import type { Connection } from './connection.js';
import type { Digests } from './digests.js';
import { EncoderLedger } from './encoders.js';
import { forgettable } from './forgettable.js';
import { GovernanceReads } from './governance-reads.js';
import { LocalReads } from './kinds/local-tables.js';
import type { SubjectTables } from './kinds/tables.js';
import { LinkCycles } from './link-cycles.js';
import type { OperationLog } from './log.js';
import { vectorOf } from './operation-rows.js';
import { agentKey } from './queries/agents.js';
import { countReflections, personaVersion } from './queries/personas.js';
import { ALONE, removableSql } from './queries/room.js';
import type { QuotaLedger } from './quota-ledger.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from './rows.js';
import { RuleReads } from './rule-reads.js';
import { Statements } from './statements.js';
import { SubjectReads } from './subject-reads.js';
import { NO_SUSPECT, SUSPECT_MEMORIES } from './suspects.js';

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
  private readonly removable;
  private readonly alone;
  private readonly owner;
  private readonly envelope;
  private readonly texts;
  private readonly subjects;
  private readonly cycles;
  private readonly governance;
  private readonly encoders;
  private readonly rules;
  private readonly local;
  private readonly handlers: ReadHandlers;

  constructor(
    db: Connection,
    private readonly quotas: QuotaLedger,
    private readonly log: OperationLog,
    private readonly digests: Digests,
    private readonly crypto: Crypto,
    private readonly tables: SubjectTables,
  ) {
    this.subjects = new SubjectReads(db, tables, crypto);
    this.encoders = new EncoderLedger(db);
    this.rules = new RuleReads(db, tables);
    this.local = new LocalReads(db);
    this.texts = new Statements(db);
    this.cycles = new LinkCycles(db);
    this.governance = new GovernanceReads(db, tables.records(standardKind.name));
    this.byId = db.prepare<[string], SqlRow>(`SELECT ${SELECT_ROW} FROM memories m WHERE m.id = ?`);
    this.life = db.prepare<[string], MemoryLife>(
      `SELECT id, tier, access_count, created_at, last_accessed_at, expires_at, life_at FROM memories m
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
    this.removable = {
      expired: db.prepare<[object], SqlRow>(removableSql('expired', SELECT_ROW)),
      short: db.prepare<[object], SqlRow>(removableSql('short', SELECT_ROW)),
      unused: db.prepare<[object], SqlRow>(removableSql('unused', SELECT_ROW)),
    };
    this.alone = db.prepare<[], number>(ALONE).pluck();
    this.envelope = db.prepare<[string], { memory_id: string }>(
      'SELECT memory_id FROM write_envelopes WHERE fingerprint = ?',
    );
    this.owner = db.prepare<[], OwnerRow>(
      'SELECT holder, role, fencing, expires_at_ms FROM database_owner WHERE singleton = 1',
    );
    this.handlers = new ReadHandlers([
      ...this.handlersOf(),
      ...this.webhookHandlers(),
      ...this.logHandlers(),
    ]);
  }

  /** The names of the reads that it answers. */
  get handled(): readonly string[] {
    return this.handlers.names;
  }

  /** Answers a read of a decision. */
  answer(request: ReadRequest, context: DecisionContext): unknown {
    return this.handlers.answer(request, context);
  }

  private handlersOf(): readonly ReadHandler[] {
    const { subjects, tables } = this;
    const { titles } = tables.memories;
    return [
      handles(memoryRead, ({ id }) => oneRow(this.byId.get(id))),
      handles(memoryLife, ({ id }) => this.life.get(id) ?? null),
      handles(titleRead, ({ title, namespace }) =>
        titles.isFree(title, namespace) ? null : oneRow(this.byTitle.get(title, namespace)),
      ),
      handles(titleExpiryOf, ({ title, namespace }) =>
        titles.isFree(title, namespace) ? null : (this.titleExpiry.get(title, namespace) ?? null),
      ),
      handles(removableForRoom, ({ step, unusedSince, limit }, { now }) =>
        this.removable[step]
          .all({ ...(step === 'unused' ? { unusedSince } : {}), now, limit })
          .map(memoryFromSql),
      ),
      handles(expiredMemories, ({ before, limit }) => this.expired.all(before, limit).map(memoryFromSql)),
      handles(quotaUseOf, ({ holder, namespace }) => this.quotas.use(holder, namespace)),
      handles(writtenBytes, ({ holder }, { now }) => this.quotas.written(holder, now)),
      handles(usedEnvelope, ({ fingerprint }) => this.envelope.get(fingerprint)?.memory_id ?? null),
      handles(boundKeyOf, ({ agentId }) => agentKey(this.texts, agentId)),
      handles(waitingTexts, ({ rows, characters }) => tables.memories.texts.page(rows, characters)),
      handles(databaseOwner, () => ownerFromSql(this.owner.get())),
      handles(encodersInUse, () => this.encoders.read()),
      handles(comingIncomplete, () => this.encoders.isComingIncomplete()),
      handles(ridsAfter, ({ afterRid, namespace, limit }) =>
        this.encoders.ridsAfter(afterRid, namespace, limit),
      ),
      handles(archivedMemory, ({ id }) => this.archived(id)),
      handles(purgeableMemories, (request) => this.purgeable(request)),
      handles(forgettableMemories, ({ filter, limit }, { now }) => this.forgettable(filter, limit, now)),
      handles(lastEditOf, ({ id }) => this.lastEdit(id)),
      handles(imageOfVersion, ({ id, version }) => this.imageOfVersion(id, version)),
      handles(imageWrittenBy, ({ id, operation }) => this.imageWrittenBy(id, operation)),
      handles(subjectRow, ({ kind, id }) => tables.of(kind).row(id)),
      handles(tombstoneOf, (subject) => this.tombstone(subject)),
      handles(versionsOf, (subject) => subjects.versions(subject)),
      handles(historyOf, (subject) => subjects.history(subject)),
      handles(namespacesOf, (subject) => subjects.namespaces(subject)),
      handles(placesOf, (subject) => subjects.places(subject)),
      handles(writesAlone, () => this.alone.get() === 1),
      handles(logOf, (subject) => this.flushedLog(subject)),
      handles(storedSubject, (subject) => subjects.stored(subject)),
      handles(subjectsBeyond, ({ origin, seq }) => subjects.subjectsBeyond(origin, seq)),
      handles(digestHolds, ({ kind, namespace }) => this.digests.holds(kind, namespace)),
      handles(recordsWith, ({ kind, member, value, limit }) =>
        tables.records(kind).rowsWith(member, value, limit),
      ),
      handles(digestOfText, ({ text }) => this.crypto.sha256Hex(text)),
      handles(signatureHolds, ({ publicKey, signature, data }) =>
        holdsFor({ signature, public_key: publicKey }, data, this.crypto),
      ),
      handles(hasPolicies, () => this.governance.hasPolicies()),
      handles(standardsOf, ({ namespaces }) => this.governance.standards(namespaces)),
      handles(holdsOthers, (asked, { now }) =>
        this.governance.holdsOthers(asked.namespace, asked.agentId, now),
      ),
      handles(refusalsNoted, ({ agentId, since }) => this.governance.refusalsNoted(agentId, since)),
      handles(openPendings, (asked) => this.governance.openPendings(asked, this.log.own().origin)),
      handles(rulesOn, ({ ruleKind, skipDamaged }) => this.rules.of(ruleKind, skipDamaged)),
      handles(leadsBack, ({ link, rowsMax }) => this.cycles.leadsBack(link, rowsMax)),
      handles(linkCount, (asked) => this.cycles.count(asked)),
      handles(sourcesOf, (asked) => this.cycles.sourcesOf(asked)),
      handles(reflectionCount, ({ entityId, namespace }) =>
        countReflections(this.texts, entityId, namespace),
      ),
      handles(personaVersionOf, ({ entityId, namespace }) => personaVersion(this.texts, entityId, namespace)),
    ];
  }

  private webhookHandlers(): readonly ReadHandler[] {
    const { local } = this;
    return [
      handles(localRowsOf, (asked) => local.rows(asked)),
      handles(localRowCount, ({ of, where, max }) => local.count(of, where, max)),
      handles(lastNumberOf, ({ of }) => local.lastNumber(of)),
    ];
  }

  private logHandlers(): readonly ReadHandler[] {
    const { subjects, log } = this;
    return [
      handles(ownOrigin, () => log.own()),
      handles(logAhead, (_request, { nowMs }) => log.ahead(nowMs)),
      handles(originHead, ({ origin }) => log.unwrittenEnd(origin) ?? subjects.originHead(origin)),
      handles(originsOf, ({ peerId }) => {
        log.flush();
        return subjects.originsOf(peerId);
      }),
      handles(scopeOfAuthor, ({ peerId }) => {
        log.flush();
        return subjects.scopeOf(peerId);
      }),
      handles(operationHash, ({ origin, seq }) => {
        log.flush();
        return subjects.operationHash(origin, seq);
      }),
      handles(parkedReason, ({ origin, seq }) => subjects.parkedReason(origin, seq)),
      handles(nonceUsed, ({ peerId, fingerprint }) => subjects.nonceUsed(peerId, fingerprint)),
      handles(parkedOperations, (page) => subjects.parked(page)),
      handles(epochNotices, ({ origin }) => subjects.epochNotices(origin)),
      handles(renamedWhole, (names) => subjects.renamedWhole(names)),
      handles(loggedHash, ({ origin, seq }) => subjects.loggedHash(origin, seq)),
      handles(isLogged, ({ origin, seq }) => subjects.isLogged(origin, seq)),
    ];
  }

  private tombstone(subject: Subject) {
    const row = this.tables.tombstones.whole(subject);
    if (row === null) return null;
    const { seen, deleted_at, word, namespace } = row;
    return { seen: vectorOf(seen), deleted_at, word, namespace };
  }

  private flushedLog(subject: Subject) {
    this.log.flush();
    return this.subjects.log(subject);
  }

  private archived(id: string): ArchivedRow | null {
    this.tables.tombstones.whole({ kind: memoryKind.name, id });
    const row = this.texts
      .get(
        `SELECT ${SELECT_ARCHIVED}, ${ARCHIVED_SEEN} AS subject_seen, ${ARCHIVED_VERSION} AS subject_version
         FROM archived_memories a WHERE a.id = ?`,
      )
      .get(id) as SqlRow | undefined;
    return row === undefined ? null : archivedRowFromSql(row);
  }

  private forgettable(filter: ForgetFilter, limit: number, now: string): readonly MemoryRow[] {
    const { sql, parameters } = forgettable(filter, now);
    const rows = this.texts
      .get(`SELECT ${SELECT_ROW} FROM memories m WHERE ${sql} AND ${NO_SUSPECT} ORDER BY m.rid LIMIT @limit`)
      .all({ ...parameters, limit }) as SqlRow[];
    return rows.map(memoryFromSql);
  }

  private purgeable(request: Asked<typeof purgeableMemories>) {
    const { before, ownerId, limit } = request;
    const owned = ownerId === null ? '' : ' AND a.owner_id = @owner';
    const rows = this.texts
      .get(
        `SELECT a.id, a.namespace, a.archived_at, ${ARCHIVED_SEEN} AS subject_seen FROM archived_memories a
         WHERE a.archived_at <= @before${owned} AND a.id NOT IN (${SUSPECT_MEMORIES})
         ORDER BY a.archived_at, a.id LIMIT @limit`,
      )
      .all({ before, limit, ...(ownerId === null ? {} : { owner: ownerId }) }) as SqlRow[];
    return rows.map((row) => {
      this.tables.tombstones.whole({ kind: memoryKind.name, id: String(row['id']) });
      return purgeableFromSql(row);
    });
  }

  /** By their stamps: of edits made at the same time the later one stood, in whichever order they arrived here. */
  private lastEdit(id: string): LastEdit | null {
    const edit = this.texts
      .get(
        `SELECT hlc, payload, payload_hash FROM operations
         WHERE subject = @id AND kind = 'update' AND parked IS NULL AND hlc >
           (SELECT coalesce(max(hlc), '') FROM operations WHERE subject = @id AND kind = 'store')
         ORDER BY hlc DESC, origin DESC LIMIT 1`,
      )
      .get({ id }) as (LoggedImage & { hlc: string }) | undefined;
    if (edit === undefined) return null;
    const before = this.texts
      .get(
        `SELECT payload, payload_hash FROM operations WHERE subject = ? AND hlc < ?
           AND parked IS NULL AND kind IN ('store', 'update', 'promote', 'life', 'restore') ORDER BY hlc DESC, origin DESC LIMIT 1`,
      )
      .get(id, edit.hlc) as LoggedImage | undefined;
    return { before: before === undefined ? null : this.imageOf(before), after: this.imageOf(edit) };
  }

  private imageWrittenBy(id: string, { origin, seq }: OperationPlace): MemoryImage | null {
    const written = this.texts
      .get(
        `SELECT payload, payload_hash FROM operations WHERE origin = ? AND origin_seq = ? AND subject = ?
           AND kind IN ('store', 'update', 'promote', 'life', 'restore') AND parked IS NULL`,
      )
      .get(origin, seq, id) as LoggedImage | undefined;
    return written === undefined ? null : this.imageOf(written);
  }

  /** Of concurrent versions with one number the latest. */
  private imageOfVersion(id: string, version: number): MemoryImage | null {
    const written = this.texts
      .get(
        `SELECT payload, payload_hash FROM operations WHERE subject = @id AND payload IS NOT NULL AND parked IS NULL
           AND kind IN ('store', 'update', 'promote', 'restore')
           AND CAST(iif(json_valid(payload), payload ->> '$.version', NULL) AS INTEGER) = @version
         ORDER BY hlc DESC, origin DESC LIMIT 1`,
      )
      .get({ id, version }) as LoggedImage | undefined;
    return written === undefined ? null : this.imageOf(written);
  }

  /** The image after an operation; null when the log dropped or lost the payload. */
  private imageOf({ payload, payload_hash }: LoggedImage): MemoryImage | null {
    const sound = payload !== null && this.crypto.sha256Hex(payload) === payload_hash;
    return sound ? memoryKind.payload.parse(parsedObject(payload)) : null;
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
