import type { Instant } from '../../../protocol/base/meanings.js';
import { LAPSED_SHARE } from '../../../protocol/memory/validity.js';
import type { FusedRow } from '../../../protocol/ranking/fusion.js';
import type { LoadedRow } from './rows.js';

/** What does not hold now counts less, unless the request names an instant, at which all of its rows hold. */
export function heldFirst(
  rows: FusedRow[],
  asOf: Instant | null,
  rowOf: (rid: number) => LoadedRow,
): FusedRow[] {
  const holds = ({ rid }: FusedRow) => rowOf(rid).holds;
  if (asOf !== null || rows.every(holds)) return rows;
  const lowered = rows.map((row) => (holds(row) ? row : { ...row, share: row.share * LAPSED_SHARE }));
  return lowered.sort((left, right) => right.share - left.share);
}
