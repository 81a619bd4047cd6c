import { instantAfter } from '../../../protocol/base/time.js';
import { adjacentTo, type Compared, clustersOf, comparedWords } from '../../../protocol/curation/clusters.js';
import { CURATOR, ROLLBACK_NAMESPACE, ROLLED_BACK_TAG } from '../../../protocol/curation/curator.js';
import * as limits from '../../../protocol/curation/limits.js';
import type {
  AskCurationPlan,
  AskReflectionClusters,
  CuratedNamespaces,
} from '../../../protocol/curation/queries.js';
import { COMPARED_LENGTH_MAX } from '../../../protocol/memory/likeness.js';
import type { Answers } from '../../../protocol/release.js';
import type { QueryParts } from './query-parts.js';

const DAY_SECONDS = 86_400;

/** A member of the metadata; null where they cannot be read, so that a damaged row breaks nothing. */
const meta = (member: string): string => `iif(json_valid(m.metadata), m.metadata -> '$.${member}', NULL)`;

/** True for a name of a list, and for all below one that ends with `/**`. */
const named = (list: string): string =>
  `EXISTS (SELECT 1 FROM json_each(@${list}) n WHERE m.namespace = n.value OR (n.value LIKE '%/**'
     AND (m.namespace = substr(n.value, 1, length(n.value) - 3)
       OR substr(m.namespace, 1, length(n.value) - 2) = substr(n.value, 1, length(n.value) - 2))))`;

const LIVE = `(m.expires_at IS NULL OR m.expires_at > @now) AND substr(m.namespace, 1, 1) <> '_'`;

/** Memories with a meaning of their own, parts of others, messages, and standards of namespaces are not curated. */
const CURATED = `${LIVE} AND m.memory_kind NOT IN ('reflection', 'persona', 'entity') AND m.atom_of IS NULL
  AND m.atomised_into IS NULL AND m.addressee_id IS NULL AND m.conflict_of IS NULL
  AND (@include = '[]' OR ${named('include')}) AND NOT ${named('exclude')}
  AND NOT EXISTS (SELECT 1 FROM records s WHERE s.kind = 'standard'
    AND iif(json_valid(s.payload), s.payload ->> '$.standard_id', NULL) = m.id)`;

/** What was rolled back is left alone. */
const LEFT_ALONE = `SELECT a.value FROM memories r, json_each(iif(json_valid(r.metadata), r.metadata, '{}'), '$.about') a
  WHERE r.ns_id = (SELECT ns_id FROM namespaces WHERE name = '${ROLLBACK_NAMESPACE}') AND r.owner_id = '${CURATOR}'
    AND EXISTS (SELECT 1 FROM json_each(iif(json_valid(r.tags), r.tags, '[]')) t WHERE t.value = '${ROLLED_BACK_TAG}')`;

interface ComparedRow {
  readonly id: string;
  readonly namespace: string;
  readonly owner_id: string | null;
  readonly scope: string | null;
  readonly title: string;
  readonly beginning: string;
  readonly bytes: number;
  readonly tagged: number;
  readonly alone: number;
}

const COLUMNS = `m.id, m.namespace, m.owner_id, iif(m.scope = 'collective', NULL, m.scope) AS scope, m.title,
  substr(m.content, 1, ${COMPARED_LENGTH_MAX}) AS beginning, octet_length(m.content) AS bytes,
  ${meta('auto_tags')} IS NOT NULL AS tagged, m.id IN (${LEFT_ALONE}) AS alone`;

const comparedRow = ({ id, namespace, owner_id, scope, title, beginning }: ComparedRow): Compared => ({
  id,
  audience: JSON.stringify([namespace, owner_id, scope]),
  words: comparedWords(`${title} ${beginning}`),
});

const placesOf = ({ include, exclude }: CuratedNamespaces) => ({
  include: JSON.stringify(include),
  exclude: JSON.stringify(exclude),
});

/** What there is to do for the curator (reference-mcp-cli §6.9). */
export function curationPlan(parts: QueryParts, query: AskCurationPlan): Answers['curation-plan'] {
  const { statements } = parts;
  const { now, untaggedMax } = query;
  // Untagged ones come first, in another order each time: some that no model can tag must not keep out the others.
  const select = statements.get(
    `SELECT * FROM (SELECT ${COLUMNS}, m.rid, m.updated_at FROM memories m
       WHERE m.tier = @tier AND ${CURATED} AND length(m.content) >= ${limits.CURATED_LENGTH_MIN})
     ORDER BY tagged, iif(tagged, 0, (rid * 7919 + @salt) % 104729), updated_at DESC, rid LIMIT @limit`,
  );
  const salt = Date.parse(now) % 104_729;
  const given = {
    now,
    ...placesOf(query),
    salt,
    limit: Math.min(query.rowsPerTier, limits.CURATED_ROWS_MAX),
  };
  const rows = ['mid', 'long'].flatMap((tier) => select.all({ ...given, tier }) as ComparedRow[]);
  const compared = new Map(rows.map((row) => [row.id, comparedRow(row)]));
  const judged = rows.filter(({ alone }) => alone === 0).map(({ id }) => compared.get(id)!);
  const untagged = rows
    .filter(({ tagged }) => tagged === 0)
    .slice(0, untaggedMax)
    .map(({ id, alone }) => ({
      id,
      adjacent: alone === 1 ? null : adjacentTo(compared.get(id)!, judged, limits.ADJACENT_JACCARD_MIN),
    }));
  const joined = rows.filter(
    ({ alone, owner_id, bytes }) => alone === 0 && owner_id !== null && bytes <= limits.JOINED_BYTES_MAX,
  );
  const clusters = clustersOf(
    joined.map(({ id }) => compared.get(id)!),
    {
      ...{ least: limits.CLUSTER_JACCARD_MIN, rowsMin: 2, rowsMax: limits.CLUSTER_ROWS_MAX },
      clustersMax: limits.CLUSTERS_MAX,
    },
  );
  const scanned = scannedRows(parts, now);
  return { scanned, eligible: rows.length, untagged, clusters, ...adjusted(parts, query) };
}

const scannedRows = ({ statements }: QueryParts, now: string): number =>
  statements
    .get(`SELECT count(*) FROM memories m WHERE m.tier IN ('mid', 'long') AND ${LIVE}`)
    .pluck()
    .get({ now }) as number;

/** Memories whose priority changes: each at most once in some days. */
function adjusted({ statements }: QueryParts, query: AskCurationPlan) {
  const { now } = query;
  const daysAgo = (days: number) => instantAfter(now, -days * DAY_SECONDS);
  const found = (which: string) =>
    statements
      .get(
        `SELECT m.id FROM memories m WHERE m.tier IN ('mid', 'long') AND ${CURATED} AND ${which}
           AND coalesce(iif(json_valid(m.metadata), m.metadata ->> '$.priority_adjusted_at', NULL), '') < @adjusted
           AND m.id NOT IN (${LEFT_ALONE})
         ORDER BY m.rid LIMIT ${limits.ADJUSTED_MAX}`,
      )
      .pluck();
  const given = { now, ...placesOf(query), adjusted: daysAgo(limits.ADJUSTED_DAYS) };
  const raised = found(
    `m.priority < 10 AND m.access_count >= ${limits.RAISED_ACCESSES_MIN} AND m.last_accessed_at >= @since`,
  );
  const lowered = found('m.priority > 1 AND m.access_count = 0 AND m.created_at < @since');
  return {
    raised: raised.all({ ...given, since: daysAgo(limits.RAISED_DAYS) }) as string[],
    lowered: lowered.all({ ...given, since: daysAgo(limits.LOWERED_DAYS) }) as string[],
  };
}

/** Clusters that a reflection may be written about: recalled lately, seen by others than their owner, and about which the curator wrote none. */
export function reflectionClusters(
  parts: QueryParts,
  query: AskReflectionClusters,
): Answers['reflection-clusters'] {
  const { now, maxDepth, clustersMax } = query;
  const rows = parts.statements
    .get(
      `SELECT ${COLUMNS} FROM memories m
       WHERE ${LIVE} AND (m.memory_kind = 'observation' OR (m.memory_kind = 'reflection' AND m.reflection_depth < @maxDepth))
         AND (@include = '[]' OR ${named('include')}) AND NOT ${named('exclude')}
         AND m.addressee_id IS NULL AND m.atomised_into IS NULL
         AND (m.scope IS NULL OR m.scope IN ('collective', 'team', 'unit', 'org'))
         AND m.access_count > 0 AND m.last_accessed_at >= @since
         AND NOT EXISTS (SELECT 1 FROM memory_links l JOIN memories f ON f.id = l.source_id
           WHERE l.target_id = m.id AND l.relation = 'reflects_on' AND f.owner_id = '${CURATOR}')
       ORDER BY m.last_accessed_at DESC, m.rid LIMIT @rows`,
    )
    .all({
      ...{ now, maxDepth, rows: query.rows, ...placesOf(query) },
      since: instantAfter(now, -limits.REFLECT_DAYS * DAY_SECONDS),
    }) as ComparedRow[];
  const clusters = clustersOf(
    rows.map((row) => ({ ...comparedRow(row), audience: JSON.stringify([row.namespace, row.scope]) })),
    {
      ...{ least: limits.REFLECT_JACCARD_MIN, rowsMin: limits.REFLECT_ROWS_MIN },
      ...{ rowsMax: limits.REFLECT_ROWS_MAX, clustersMax },
    },
  );
  return { scanned: scannedRows(parts, now), eligible: rows.length, clusters };
}
