import { KINDS, type Kinds } from '../../protocol/kinds/kinds.js';
import type { MemoryPage, RankedMemories, SearchMemories } from '../../protocol/memory/queries.js';
import type { AnswerOf, Answers, Query } from '../../protocol/queries.js';
import type { RecallRequest, Viewer } from '../../protocol/ranking/types.js';
import { ok, type Result } from '../../protocol/result.js';
import type { Crypto } from '../../protocol/seams.js';
import type { SelfCheckPage } from '../port.js';
import { auditHeadPath, readAuditHead } from './audit-head.js';
import { type Connection, isCorruption } from './connection.js';
import { DamagedRowError } from './damage.js';
import { dataDamaged, storageFailure } from './failures.js';
import { KindPages } from './kinds/tables.js';
import { type RowPage, readPage } from './page.js';
import { agentKey, listAgents } from './queries/agents.js';
import { archiveStats, findArchived, listArchive } from './queries/archive.js';
import { auditRows } from './queries/audit.js';
import { nearDuplicate, similarTitles } from './queries/before-store.js';
import { embeddingProgress, pendingEmbeddings } from './queries/embeddings.js';
import { exportLinks, exportMemories } from './queries/export.js';
import { getMemory } from './queries/get.js';
import { consolidationGroups, countExpired, countForgettable } from './queries/life.js';
import { listMemories } from './queries/list.js';
import { linkAttestations, recallObservations } from './queries/observations.js';
import { listPeerProgress } from './queries/peer-progress.js';
import { currentOwner, logPosition, namespaceIds } from './queries/position.js';
import { listQuotas } from './queries/quotas.js';
import { readLogged, readRangeSubjects, readRanges, type SubjectSource } from './queries/ranges.js';
import { exportRecords, readRecords } from './queries/records.js';
import {
  findOperation,
  knownOrigins,
  listConflicts,
  listNonces,
  readDigests,
  readOperations,
} from './queries/replication.js';
import {
  integrityNotes,
  listSuspects,
  scrubLog,
  scrubNamespaces,
  scrubRows,
  scrubTombstones,
} from './queries/scrub.js';
import { findContradictions, nearestMemory } from './queries/similar.js';
import { memoriesSince } from './queries/since.js';
import { storeStats } from './queries/stats.js';
import { supersededPayloads } from './queries/superseded.js';
import { RecallIndex } from './recall/recall.js';
import { SELECT_ROW, type SqlRow } from './rows.js';
import { selfCheck } from './self-check.js';
import { Statements } from './statements.js';
import { visibleRows } from './visibility.js';

/**
 * Answers queries on one connection. Synchronous; the same code runs in the daemon's reader threads, on its main
 * thread for point reads, and inline.
 */
export class Reader {
  private readonly statements;
  private readonly recall;
  private readonly pages: KindPages;

  constructor(
    private readonly db: Connection,
    /** For queries that hash; null where none are asked. */
    private readonly crypto: Crypto | null = null,
    private readonly kinds: Kinds = KINDS,
  ) {
    this.pages = new KindPages(kinds);
    this.statements = new Statements(db);
    this.recall = new RecallIndex(db);
  }

  /** A failure names the row that cannot be read; a page leaves it out and says so. */
  run<Q extends Query>(query: Q): Result<AnswerOf<Q>>;
  run(query: Query): Result<Answers[Query['kind']]> {
    return namingDamage(() => this.answer(query));
  }

  /** A page of SQLite's check of itself. */
  selfCheck(cursor: string | null): Result<SelfCheckPage> {
    return namingDamage(() => ok(selfCheck(this.db, cursor)));
  }

  /** The rows that another thread has ranked. */
  readWinners(request: RecallRequest, ranked: RankedMemories): Result<Answers['recall-memories']> {
    return namingDamage(() => ok(this.readRanked(request, ranked)));
  }

  private answer(query: Query): Result<Answers[Query['kind']]> {
    switch (query.kind) {
      case 'get-memory':
        return getMemory(this.statements, query);
      case 'list-memories':
        return ok(listMemories(this.statements, query));
      case 'search-memories':
        return ok(this.search(query));
      case 'recall-memories':
        return ok(this.readRanked(query.request, this.recall.recall(query.request, query.prepared ?? null)));
      case 'rank-memories':
        return ok(this.recall.recall(query.request, query.prepared ?? null));
      case 'prepare-recall':
        this.recall.prepare(query.key, query.request);
        return ok({ prepared: true });
      case 'store-stats':
        return ok(storeStats(this.statements, query));
      case 'pending-embeddings':
        return ok(pendingEmbeddings(this.statements, query));
      case 'log-position':
        return ok(logPosition(this.statements));
      case 'namespace-ids':
        return ok(namespaceIds(this.statements, query));
      case 'current-owner':
        return ok(currentOwner(this.statements, query));
      case 'embedding-progress':
        return ok(embeddingProgress(this.statements));
      case 'agent-key':
        return ok({ publicKey: agentKey(this.statements, query.agentId) });
      case 'list-agents':
        return ok(listAgents(this.statements, query));
      case 'list-quotas':
        return ok(listQuotas(this.statements, query));
      case 'audit-rows':
        return ok(auditRows(this.statements, query));
      case 'audit-head':
        return ok({ head: this.db.memory ? null : readAuditHead(auditHeadPath(this.db.name)) });
      case 'list-archive':
        return ok(listArchive(this.statements, query));
      case 'archive-stats':
        return ok(archiveStats(this.statements, query));
      case 'find-archived':
        return findArchived(this.statements, query);
      case 'count-forgettable':
        return ok(countForgettable(this.statements, query));
      case 'count-expired':
        return ok(countExpired(this.statements, query));
      case 'consolidation-groups':
        return ok(consolidationGroups(this.statements, query));
      case 'nearest-memory':
        return ok(nearestMemory(this.statements, query));
      case 'near-duplicate':
        return ok(nearDuplicate(this.statements, query));
      case 'similar-titles':
        return ok(similarTitles(this.statements, query));
      case 'find-contradictions':
        return ok(findContradictions(this.statements, query));
      case 'recall-observations':
        return ok(recallObservations(this.statements, query));
      case 'link-attestations':
        return ok(linkAttestations(this.statements, query));
      case 'export-memories':
        return ok(exportMemories(this.statements, query));
      case 'export-links':
        return ok(exportLinks(this.statements, query));
      case 'export-records':
        return ok(exportRecords(this.statements, this.kinds, query));
      case 'read-records':
        return readRecords(this.statements, this.kinds, query);
      case 'memories-since':
        return ok(memoriesSince(this.statements, query));
      case 'list-peer-progress':
        return ok(listPeerProgress(this.statements));
      case 'known-origins':
        return ok(knownOrigins(this.statements));
      case 'read-operations':
        return ok(readOperations(this.statements, query));
      case 'read-digests':
        return ok(readDigests(this.statements, this.kinds));
      case 'find-operation':
        return ok(findOperation(this.statements, query));
      case 'list-conflicts':
        return ok(listConflicts(this.statements, query));
      case 'list-nonces':
        return ok(listNonces(this.statements));
      case 'read-ranges':
        return ok(readRanges(this.source(), query));
      case 'read-range-subjects':
        return ok(readRangeSubjects(this.source(), query));
      case 'read-logged':
        return ok(readLogged(this.source(), query));
      case 'scrub-rows':
        return ok(scrubRows(this.source(), query));
      case 'scrub-tombstones':
        return ok(scrubTombstones(this.source(), query));
      case 'scrub-log':
        return ok(scrubLog(this.source(), query));
      case 'list-suspects':
        return ok(listSuspects(this.statements, query));
      case 'scrub-namespaces':
        return ok(scrubNamespaces(this.statements));
      case 'superseded-payloads':
        return ok(supersededPayloads(this.statements, this.kinds, query));
      case 'integrity-notes':
        return ok(integrityNotes(this.statements));
    }
  }

  private source(): SubjectSource {
    return { statements: this.statements, crypto: this.hashes(), pages: this.pages };
  }

  private hashes(): Crypto {
    if (this.crypto === null) throw new Error('this reader was opened without the means to hash');
    return this.crypto;
  }

  private search(query: SearchMemories): MemoryPage {
    const { viewer, now, offset } = query.filter;
    const rids = this.recall.search(query);
    const { rows, truncated, looked: _, ...leftOut } = this.visibleInOrder(rids, viewer, now);
    const last = rows[rows.length - 1];
    const nextOffset = truncated && last !== undefined ? offset + rids.indexOf(last.rid) + 1 : null;
    return { memories: rows, nextOffset, ...leftOut };
  }

  /** The ranked rows, read again through the gate: an index may lag behind, what is shown may not. */
  private readRanked(request: RecallRequest, ranked: RankedMemories): Answers['recall-memories'] {
    const scores = new Map(ranked.rows.map(({ rid, score }) => [rid, score]));
    const page = this.visibleInOrder([...scores.keys()], request.viewer, request.now);
    const { rows, truncated, looked: _, ...leftOut } = page;
    return {
      ...ranked,
      ...leftOut,
      rows: rows.map((memory) => ({ memory, score: scores.get(memory.rid) ?? 0 })),
      truncated,
    };
  }

  /** The visible rows of a list, in its order, as far as a page goes. */
  private visibleInOrder(rids: readonly number[], viewer: Viewer, now: string): RowPage {
    const gate = visibleRows('m', viewer, now);
    const cursor = this.statements
      .get(
        `SELECT ${SELECT_ROW} FROM json_each(@rids) AS listed CROSS JOIN memories m ON m.rid = listed.value
         WHERE ${gate.sql}`,
      )
      .iterate({ ...gate.parameters, rids: `[${rids.join(',')}]` }) as Iterable<SqlRow>;
    return readPage(cursor);
  }
}

function namingDamage<T>(read: () => Result<T>): Result<T> {
  try {
    return read();
  } catch (error) {
    if (error instanceof DamagedRowError) return dataDamaged(error);
    if (isCorruption(error)) return storageFailure(error);
    throw error;
  }
}
