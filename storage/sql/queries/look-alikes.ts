import { NEAR_DUPLICATE_CANDIDATES_MAX, NEAR_DUPLICATES_MAX } from '../../../protocol/base/limits.js';
import {
  COMPARED_LENGTH_MAX,
  LIKENESS_MIN,
  Likeness,
  saysTheSame,
  searchedGroups,
} from '../../../protocol/memory/likeness.js';
import type {
  FindLookAlikes,
  FlaggedDuplicates,
  LookAlikePair,
  NearDuplicate,
  ReviewWritten,
} from '../../../protocol/memory/look-alikes.js';
import { quoted } from '../../../protocol/ranking/quoted.js';
import type { Answers } from '../../../protocol/release.js';
import { type SqlFragment, visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** A text that is this much shorter or longer has too few words in common; short texts get some slack. */
const LENGTH_RATIO = 1.6;
const LENGTH_SLACK = 40;

/** Rows of all namespaces, before the compared one, among which those of its namespace are found. */
const NEWEST_ROWS = 256;

interface Compared {
  readonly rid: number;
  readonly id: string;
  readonly title: string;
  readonly content: string;
}

interface Subject {
  readonly nsId: number;
  /** The row itself, which is not its own duplicate. */
  readonly id: string;
  readonly title: string;
  readonly content: string;
  /** Only rows that were inserted before this one are compared; null compares all. */
  readonly beforeRid: number | null;
}

/** Visible rows that say nearly the same as a text that is being stored. */
export function findLookAlikes(parts: QueryParts, query: FindLookAlikes): Answers['find-look-alikes'] {
  const namespace = parts.statements
    .get('SELECT ns_id FROM namespaces WHERE name = ?')
    .get(query.namespace) as { ns_id: number } | undefined;
  if (namespace === undefined) return { found: [] };
  const { title, content, exceptId } = query;
  const gate = visibleRows('m', query.viewer, query.now);
  const subject = { nsId: namespace.ns_id, id: exceptId, title, content, beforeRid: null };
  return {
    found: alike(parts, subject, gate).map(({ row, similarity }) => ({
      id: row.id,
      title: row.title,
      similarity: rounded(similarity),
      same: saysTheSame(row, query),
    })),
  };
}

/** The rows that were written since a position in the log, compared with the rows of their namespaces. */
export function reviewWritten(parts: QueryParts, query: ReviewWritten): Answers['review-written'] {
  const { statements, clock } = parts;
  const untilMs = clock.monotonicMs() + (query.withinMs ?? Number.POSITIVE_INFINITY);
  const noted = statements.get('SELECT commit_sequence FROM near_duplicates_through').pluck();
  const after = query.after ?? (noted.get() as number | undefined) ?? 0;
  const operations = statements
    .get(
      `SELECT commit_sequence AS place, subject, kind FROM operations WHERE commit_sequence > ?
       ORDER BY commit_sequence LIMIT ?`,
    )
    .all(after, query.limit) as { place: number; subject: string; kind: string }[];
  const gate = visibleRows('m', { all: true, agentId: null, asNamespace: null }, query.now);
  const written = operations.filter(({ kind }) => WRITES.has(kind));
  const changed = new Set(written.filter(({ kind }) => kind !== 'store').map(({ subject }) => subject));
  const pairs: LookAlikePair[] = [];
  const compared = new Set<string>();
  let through = after;
  for (const { place, subject: id, kind } of operations) {
    if (through > after && clock.monotonicMs() >= untilMs) break;
    through = place;
    if (!WRITES.has(kind) || compared.has(id)) continue;
    compared.add(id);
    const row = statements
      .get(
        `SELECT m.rid, m.ns_id AS nsId, m.id, m.title, m.content
         FROM memories m WHERE m.id = @id AND ${gate.sql}`,
      )
      .get({ ...gate.parameters, id }) as (Omit<Subject, 'beforeRid'> & { readonly rid: number }) | undefined;
    if (row === undefined) continue;
    // A new row is compared with older ones only, so the pairs are the same however late the comparison comes: else the
    // first of many look-alikes, compared when it was the only one, would not be among the newest for any other.
    const beforeRid = changed.has(id) ? null : row.rid;
    for (const { row: other, similarity } of alike(parts, { ...row, beforeRid }, gate)) {
      pairs.push({ rid: row.rid, otherRid: other.rid, similarity: rounded(similarity) });
    }
  }
  return {
    pairs,
    from: after,
    through,
    more: operations.length === query.limit || through < (operations.at(-1)?.place ?? after),
  };
}

/** Words of operations that write the text of a memory. */
const WRITES: ReadonlySet<string> = new Set(['store', 'update', 'restore']);

/** The flagged duplicates of some memories, the most similar first. */
export function flaggedDuplicates(
  { statements }: QueryParts,
  query: FlaggedDuplicates,
): Answers['flagged-duplicates'] {
  const gate = visibleRows('m', query.viewer, query.now);
  const side = (own: string, other: string) =>
    `SELECT o.id AS subject, m.id, m.title, d.similarity FROM json_each(@ids) AS listed
     JOIN memories o ON o.id = listed.value JOIN near_duplicates d ON d.${own} = o.rid
     JOIN memories m ON m.rid = d.${other} WHERE ${gate.sql}`;
  const rows = statements
    .get(
      `SELECT * FROM (${side('rid', 'other_rid')} UNION ALL ${side('other_rid', 'rid')})
       ORDER BY similarity DESC, id`,
    )
    .all({ ...gate.parameters, ids: JSON.stringify(query.ids) }) as (NearDuplicate & {
    readonly subject: string;
  })[];
  const flagged = new Map<string, NearDuplicate[]>();
  for (const { subject, ...duplicate } of rows) {
    const known = flagged.get(subject) ?? [];
    if (known.length < NEAR_DUPLICATES_MAX) known.push(duplicate);
    flagged.set(subject, known);
  }
  return { flagged: [...flagged] };
}

/**
 * Rows of one namespace that share most of their words with a text. Candidates have all words of one of its groups, the
 * newest first; the namespace's rows among the newest of all are compared too, because look-alikes often follow each other.
 */
function alike(
  parts: QueryParts,
  subject: Subject,
  gate: SqlFragment,
): readonly { readonly row: Compared; readonly similarity: number }[] {
  const likeness = new Likeness(subject);
  const found = [];
  for (const row of candidates(parts, subject, gate)) {
    const similarity = likeness.to(row);
    if (similarity >= LIKENESS_MIN) found.push({ row, similarity });
  }
  return found
    .sort((left, right) => right.similarity - left.similarity || right.row.rid - left.row.rid)
    .slice(0, NEAR_DUPLICATES_MAX);
}

function candidates({ statements }: QueryParts, subject: Subject, gate: SqlFragment): readonly Compared[] {
  const length = subject.content.length;
  const select = `SELECT m.rid, m.id, m.title, substr(m.content, 1, ${COMPARED_LENGTH_MAX}) AS content`;
  const fits = `m.ns_id = @ns_id AND m.id <> @id AND ${gate.sql}
    AND length(m.content) BETWEEN @shortest AND @longest`;
  const parameters = {
    ...gate.parameters,
    ns_id: subject.nsId,
    id: subject.id,
    shortest: Math.ceil(length / LENGTH_RATIO - LENGTH_SLACK),
    longest: Math.floor(length * LENGTH_RATIO + LENGTH_SLACK),
    before_rid: subject.beforeRid ?? Number.MAX_SAFE_INTEGER,
    limit: NEAR_DUPLICATE_CANDIDATES_MAX,
  };
  const newest = statements
    .get(
      `${select} FROM (SELECT rid FROM memories WHERE rid >= @newest_from AND rid < @before_rid AND ns_id = @ns_id
         ORDER BY rid DESC LIMIT @limit) AS newest
       CROSS JOIN memories m ON m.rid = newest.rid WHERE ${fits}`,
    )
    .all({ ...parameters, newest_from: newestFrom(statements, subject.beforeRid) }) as Compared[];
  const groups = searchedGroups(subject);
  if (groups.length === 0) return newest;
  const words = groups.map((group) => `(${group.map(quoted).join(' AND ')})`).join(' OR ');
  const matching = statements
    .get(
      `${select} FROM (SELECT rowid AS rid FROM memories_fts WHERE memories_fts MATCH @expression AND rowid < @before_rid
         ORDER BY rowid DESC LIMIT @limit) AS found CROSS JOIN memories m ON m.rid = found.rid WHERE ${fits}`,
    )
    .all({
      ...parameters,
      expression: `${quoted(`n${subject.nsId}`)} AND (${words})`,
    }) as Compared[];
  return [...new Map([...newest, ...matching].map((row) => [row.rid, row])).values()];
}

/** Where the newest rows begin: the first of the last rows that were inserted, of all namespaces. */
function newestFrom(statements: QueryParts['statements'], beforeRid: number | null): number {
  const end =
    beforeRid ?? (statements.get('SELECT coalesce(max(rid), 0) + 1 FROM memories').pluck().get() as number);
  return end - NEWEST_ROWS;
}

const rounded = (similarity: number) => Math.round(similarity * 1000) / 1000;
