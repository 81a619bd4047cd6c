import type { FindRecords, FindValue } from '../../../protocol/kinds/find.js';
import type { AnswerOf } from '../../../protocol/release.js';
import { placeOf, type RowSource, recordSource } from '../kinds/find-rows.js';
import { localSourceOf } from '../kinds/local-tables.js';
import type { QueryParts } from './query-parts.js';

/** A page of the rows of a kind that show to a viewer. */
export function findRecords({ find, kinds }: QueryParts, query: FindRecords): AnswerOf<FindRecords> {
  const { viewer, now, limit } = query;
  const source: RowSource = localSourceOf(query.of) ?? recordSource(kinds.of(query.of));
  const rows: object[] = [];
  let next: readonly FindValue[] | null = null;
  let place: readonly FindValue[] = [];
  const seen = viewer === null ? null : { viewer, now };
  for (const { row, sql } of find.rows(source, { ...query, limit: limit + 1 }, seen)) {
    if (rows.length === limit) {
      next = place;
      break;
    }
    rows.push(row);
    place = placeOf(source, query, sql, row);
  }
  return { rows, next };
}
