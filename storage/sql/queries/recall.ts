import type { Viewer } from '../../../protocol/base/viewer.js';
import type { MemoryPage, RankedMemories, SearchMemories } from '../../../protocol/memory/queries.js';
import type { RecallRequest } from '../../../protocol/memory/recall-request.js';
import type { Answers } from '../../../protocol/release.js';
import { type RowPage, readPage } from '../read-page.js';
import { SELECT_ROW, type SqlRow } from '../rows.js';
import type { Statements } from '../statements.js';
import { visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** A page of the memories with the words of a search. */
export function searchMemories({ recall, statements }: QueryParts, query: SearchMemories): MemoryPage {
  const { viewer, now, offset } = query.filter;
  const rids = recall.search(query);
  const { rows, truncated, looked: _, end: _end, ...leftOut } = visibleInOrder(statements, rids, viewer, now);
  const last = rows[rows.length - 1];
  const nextOffset = truncated && last !== undefined ? offset + rids.indexOf(last.rid) + 1 : null;
  return { memories: rows, nextOffset, ...leftOut };
}

/** The ranked rows, read again through the gate: an index may lag behind, an answer may not. */
export function readRanked(
  { statements }: QueryParts,
  request: RecallRequest,
  ranked: RankedMemories,
): Answers['recall-memories'] {
  const byRid = new Map(ranked.rows.map((row) => [row.rid, row]));
  const page = visibleInOrder(statements, [...byRid.keys()], request.viewer, request.now);
  const { rows, truncated, looked: _, end: _end, ...leftOut } = page;
  return {
    ...ranked,
    ...leftOut,
    rows: rows.map((memory) => {
      const { score = 0, foundBy = 'neighbours', cut = 'below' } = byRid.get(memory.rid) ?? {};
      return { memory, score, foundBy, cut };
    }),
    truncated,
  };
}

/** The visible rows of a list, in its order, until the page is full. */
function visibleInOrder(
  statements: Statements,
  rids: readonly number[],
  viewer: Viewer,
  now: string,
): RowPage {
  const gate = visibleRows('m', viewer, now);
  const cursor = statements
    .get(
      `SELECT ${SELECT_ROW} FROM json_each(@rids) AS listed CROSS JOIN memories m ON m.rid = CAST(listed.value AS INTEGER)
       WHERE ${gate.sql} ORDER BY CAST(listed.key AS INTEGER)`,
    )
    .iterate({ ...gate.parameters, rids: `[${rids.join(',')}]` }) as Iterable<SqlRow>;
  return readPage(cursor);
}
