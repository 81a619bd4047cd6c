import type { Home } from '../decide/home.js';
import { dropRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import { type Reading, recordsWith } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { homeId } from '../kinds/home.js';
import { ownPeer } from './home-here.js';
import { type Lease, leaseBy, leaseKind, leaseTermKind } from './lease-kind.js';

/** The writes after which nobody holds a lease. Its token stays, so that no later one is the same. */
export function* endTerm(row: Row<Lease>, { number }: Home): Reading<readonly Mutation[]> {
  const ended = leaseBy(number, { ...row.image, holder: null });
  return [yield* putRecord(leaseKind, row, ended), dropRows(leaseTermKind, { lease_id: row.id })];
}

/** The lease of an action; that of an action that this node made comes first. */
export function* leaseRow(actionId: string): Reading<Row<Lease> | null> {
  const own = yield* recordRow(leaseKind, homeId(yield* ownPeer(), actionId));
  if (own !== null) return own;
  const asked = { kind: leaseKind.name, member: 'action_id', value: actionId, limit: 1 };
  const [found] = yield* recordsWith(asked);
  return (found as Row<Lease> | undefined) ?? null;
}
