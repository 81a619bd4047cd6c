import type { Viewer } from '../../../protocol/base/viewer.js';
import type { ListRecalls, RecalledMemories, RecallFigures } from '../../../protocol/memory/queries.js';
import { recallKind, type StoredRecall } from '../../../protocol/memory/recall-kind.js';
import { type RecallJson, recalledFrom, usesFrom } from '../../../protocol/memory/recall-ledger.js';
import type { Answers } from '../../../protocol/release.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

const { table } = recallKind;

/** A row, with the memory that it led to as far as the viewer may see that. */
interface RecallRow extends StoredRecall {
  readonly led_to: string | null;
}

const OUTCOMES = {
  found: 'AND coalesce(o.answered, 1) > 0 AND coalesce(o.weak, 0) = 0',
  weak: 'AND o.weak = 1',
  none: 'AND o.answered = 0',
} as const;

/** False for a recall in a place that rules keep from the viewer. The gate of its rows has the parameter. */
const IS_GIVEN = `(o.namespace IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(@gate_withheld) AS kept
  WHERE regexp_like(replace(o.namespace, '/**', ''), kept.value)))`;

const WAS_USED = '(o.consumed_at IS NOT NULL OR coalesce(o.used, 0) > 0)';

/** Recalls, newest first. Filters that are not set do not change the text, so that an index serves those that are. */
export function listRecalls({ statements }: QueryParts, query: ListRecalls): Answers['list-recalls'] {
  const gate = visibleRows('later', query.viewer, query.now);
  const { recallId, agentId, namespace, outcome, used, since, until, after, limit } = query;
  const parameters: Record<string, string | number | null> = { ...gate.parameters };
  const where = (sql: string, values: Record<string, string | number> | null) => {
    if (values === null) return '';
    Object.assign(parameters, values);
    return ` AND ${sql}`;
  };
  const asked = [
    where('o.agent_id = @agent_id', agentId === null ? null : { agent_id: agentId }),
    where(
      'o.recall_id >= @recall_id AND o.recall_id < @recall_end',
      recallId === null ? null : { recall_id: recallId, recall_end: `${recallId}\u{10ffff}` },
    ),
    where('o.namespace = @namespace', namespace === null ? null : { namespace }),
    where('o.observed_at >= @since', since === null ? null : { since }),
    where('o.observed_at <= @until', until === null ? null : { until }),
    where('o.seq < @after', after === undefined ? null : { after: after[0] }),
    outcome === null ? '' : ` ${OUTCOMES[outcome]}`,
    used === null ? '' : ` AND ${used ? '' : 'NOT '}${WAS_USED}`,
    query.viewer.withheld === undefined ? '' : ` AND ${IS_GIVEN}`,
  ];
  const found = statements
    .get(
      `SELECT o.*, (SELECT later.id FROM memories later WHERE later.id = o.consumed_by_memory_id AND ${gate.sql}) AS led_to
       FROM ${table} o WHERE TRUE${asked.join('')} ORDER BY o.seq DESC LIMIT @limit`,
    )
    .all({ ...parameters, limit: limit + 1 }) as RecallRow[];
  const rows = found.slice(0, limit);
  const next = found.length > limit ? ([rows.at(-1)!.seq] as const) : null;
  return { recalls: rows.map((row) => recallJson(row, query.viewer)), next };
}

/** What others asked may tell of a namespace that rules keep from the viewer. */
const isToldTo = ({ withheld, agentId }: Viewer, asker: string): boolean =>
  withheld === undefined || asker === agentId;

const recallJson = (row: RecallRow, viewer: Viewer): RecallJson => ({
  ...{ recall_id: row.recall_id, agent_id: row.agent_id, observed_at: row.observed_at },
  query: isToldTo(viewer, row.agent_id) ? row.query : null,
  ...{ namespace: row.namespace, mode: row.retriever, words_only: row.words_only },
  rows: row.answered ?? recalledFrom(row.memories).length,
  weak: row.weak === null ? null : row.weak === 1,
  ...{ below_min_score: row.below, used: row.answered === null ? null : (row.used ?? 0) },
  ...{ took_ms: row.took_ms, led_to: row.led_to },
});

/** The rows of a recall with what became of them. Erased ones have no id, so no memory is found for them. */
export function recalledMemories(
  { statements }: QueryParts,
  { recallId, viewer, now }: RecalledMemories,
): Answers['recalled-memories'] {
  const asked = `SELECT memories, uses FROM ${table} WHERE recall_id = ?`;
  const stored = statements.get(asked).get(recallId) as Pick<StoredRecall, 'memories' | 'uses'> | undefined;
  if (stored === undefined) return { memories: [] };
  const recalled = recalledFrom(stored.memories);
  const uses = usesFrom(stored.uses);
  const gate = visibleRows('m', viewer, now);
  const seen = statements
    .get(
      `SELECT m.id, m.title, m.namespace FROM memories m
       WHERE m.id IN (SELECT value FROM json_each(@ids)) AND ${gate.sql}`,
    )
    .all({ ...gate.parameters, ids: JSON.stringify(recalled.map(([id]) => id)) }) as {
    readonly id: string;
    readonly title: string;
    readonly namespace: string;
  }[];
  const shown = new Map(seen.map((row) => [row.id, row]));
  return {
    memories: recalled.flatMap(([id, score], index) => {
      const memory = shown.get(id);
      if (memory === undefined) return [];
      const of = uses.filter(([used]) => used === id).map(([, how, at]) => ({ how, at }));
      return [{ rank: index + 1, ...memory, score, uses: of }];
    }),
  };
}

/** Counts over the recalls with a trace. */
export function recallFigures(
  { statements }: QueryParts,
  { agentId }: RecallFigures,
): Answers['recall-figures'] {
  return statements
    .get(
      `SELECT count(*) AS recalls, count(*) FILTER (WHERE o.answered = 0) AS without_row,
         count(*) FILTER (WHERE o.weak = 1) AS weak, count(*) FILTER (WHERE o.retriever = 'keyword') AS keyword,
         CAST(coalesce(sum(o.answered), 0) AS INTEGER) AS rows,
         CAST(coalesce(sum(o.used), 0) AS INTEGER) AS rows_used,
         count(*) FILTER (WHERE o.answered > 0 AND ${WAS_USED}) AS answers_used, min(o.observed_at) AS since
       FROM ${table} o WHERE o.answered IS NOT NULL${agentId === null ? '' : ' AND o.agent_id = @agent_id'}`,
    )
    .get(agentId === null ? {} : { agent_id: agentId }) as Answers['recall-figures'];
}
