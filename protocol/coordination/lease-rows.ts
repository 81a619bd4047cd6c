import type { Home } from '../decide/home.js';
import { dropRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { putRecord } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { type Lease, leaseBy, leaseKind, leaseTermKind } from './lease-kind.js';

/** The writes after which nobody holds a lease. Its token stays, so that no later one is the same. */
export function* endLease(row: Row<Lease>, { number }: Home): Reading<readonly Mutation[]> {
  const ended = leaseBy(number, { ...row.image, holder: null });
  return [yield* putRecord(leaseKind, row, ended), dropRows(leaseTermKind, { lease_id: row.id })];
}
