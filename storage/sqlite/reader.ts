import type { MemoryRow } from '../../protocol/memory.js';
import type { AnswerOf, Answers, Query, RankedMemories, SearchMemories } from '../../protocol/queries.js';
import type { RecallRequest, Viewer } from '../../protocol/ranking/types.js';
import { ok, type Result } from '../../protocol/result.js';
import { auditHeadPath, readAuditHead } from './audit-head.js';
import type { Connection } from './connection.js';
import { getAgent, listAgents } from './queries/agents.js';
import { auditRows } from './queries/audit.js';
import { embeddingProgress, pendingEmbeddings } from './queries/embeddings.js';
import { exportLinks, exportMemories } from './queries/export.js';
import { getMemory } from './queries/get.js';
import { listMemories } from './queries/list.js';
import { currentOwner, logPosition, namespaceIds } from './queries/position.js';
import { listQuotas } from './queries/quotas.js';
import { storeStats } from './queries/stats.js';
import { RecallIndex } from './recall/recall.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from './rows.js';
import { Statements } from './statements.js';
import { visibleRows } from './visibility.js';

/**
 * Answers queries on one connection. Synchronous; the same code runs in the daemon's reader threads, on its main
 * thread for point reads, and inline.
 */
export class Reader {
  private readonly statements;
  private readonly recall;

  constructor(private readonly db: Connection) {
    this.statements = new Statements(db);
    this.recall = new RecallIndex(db);
  }

  run<Q extends Query>(query: Q): Result<AnswerOf<Q>>;
  run(query: Query): Result<Answers[Query['kind']]> {
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
      case 'get-agent':
        return ok(getAgent(this.statements, query));
      case 'list-agents':
        return ok(listAgents(this.statements, query));
      case 'list-quotas':
        return ok(listQuotas(this.statements, query));
      case 'audit-rows':
        return ok(auditRows(this.statements, query));
      case 'audit-head':
        return ok({ head: this.db.memory ? null : readAuditHead(auditHeadPath(this.db.name)) });
      case 'export-memories':
        return ok(exportMemories(this.statements, query));
      case 'export-links':
        return ok(exportLinks(this.statements, query));
    }
  }

  private search(query: SearchMemories): Answers['search-memories'] {
    const rids = this.recall.search(query);
    const rows = this.visibleByRid(rids, query.filter.viewer, query.filter.now);
    return { memories: rids.flatMap((rid) => rows.get(rid) ?? []) };
  }

  /** The ranked rows, read again through the gate: an index may lag behind, what is shown may not. */
  readRanked(request: RecallRequest, ranked: RankedMemories): Answers['recall-memories'] {
    const memories = this.visibleByRid(
      ranked.rows.map((row) => row.rid),
      request.viewer,
      request.now,
    );
    const rows = ranked.rows.flatMap((row) => {
      const memory = memories.get(row.rid);
      return memory === undefined ? [] : [{ memory, score: row.score }];
    });
    return { ...ranked, rows };
  }

  private visibleByRid(rids: readonly number[], viewer: Viewer, now: string): Map<number, MemoryRow> {
    const gate = visibleRows('m', viewer, now);
    const rows = this.statements
      .get(
        `SELECT ${SELECT_ROW} FROM memories m
         WHERE m.rid IN (SELECT value FROM json_each(@rids)) AND ${gate.sql}`,
      )
      .all({ ...gate.parameters, rids: JSON.stringify(rids) }) as SqlRow[];
    return new Map(rows.map((row) => [row['rid'] as number, memoryFromSql(row)]));
  }
}
