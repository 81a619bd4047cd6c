import { detailsOf, type Failure, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import { parseRfc3339Ms } from '../../protocol/base/time.js';
import { operationId } from '../../protocol/log/operation-log.js';
import type { VerifiedOperation } from '../../protocol/log/wire-operation.js';
import type { ApplyOperations, ApplyOutcome } from '../../protocol/replication/apply-operations.js';
import type { UsedNonce } from '../../protocol/replication/used-nonce.js';
import type { VerifiedBatch } from '../../protocol/replication/verified-batch.js';
import type { ParkedOperation, RefusedOperation } from '../../protocol/wire/bodies.js';
import type { Store } from '../../storage/port.js';

/** Where verified operations are applied. */
export interface Place {
  readonly store: Store;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/**
 * The outcome of applying a page that a peer answered, including the operations that were refused before the store saw
 * them.
 */
export async function applyPage(
  place: Place,
  batch: VerifiedBatch,
  from: string,
): Promise<Result<ApplyOutcome>> {
  const applied = await applyVerified(place, batch, from, null, async () => ok(null));
  if (!applied.ok) return applied;
  return ok({ ...applied.value, refused: [...batch.refused, ...applied.value.refused] });
}

/**
 * Offers a batch to the store. When a rule throws on it, offers its operations one by one. The message's nonce is used in
 * the transaction of the batch; `use` uses it before single operations.
 */
export async function applyVerified(
  { store, clock }: Place,
  { operations, heads }: VerifiedBatch,
  from: string,
  nonce: UsedNonce | null,
  use: (nonce: UsedNonce | null) => Promise<Result<null>>,
): Promise<Result<ApplyOutcome>> {
  const command: ApplyOperations = { kind: 'apply-operations', from, operations, heads, nonce };
  const together = await store.execute(command);
  if (together.ok || !breaksAlone(together.error, clock.nowMs())) return together;
  const used = await use(nonce);
  if (!used.ok) return failed(used.error);
  return ok(await applyOneByOne({ store, clock }, command));
}

/** How long a damaged row may delay what peers send; after that only its own operations wait. */
const DAMAGE_HOLDS_UP_MS = 60_000;

/** True where one operation must not delay the others: a rule throws on it, or its row cannot be repaired. */
function breaksAlone(failure: Failure, nowMs: number): boolean {
  if (failure.code === 'INTERNAL') return true;
  const sinceMs = parseRfc3339Ms(detailsOf(failure, 'DATA_DAMAGED')?.damaged_since ?? '');
  return sinceMs !== null && nowMs - sinceMs > DAMAGE_HOLDS_UP_MS;
}

async function applyOneByOne({ store, clock }: Place, command: ApplyOperations): Promise<ApplyOutcome> {
  let applied = 0;
  let noop = 0;
  const refused: RefusedOperation[] = [];
  const parked: ParkedOperation[] = [];
  const have: Record<string, number> = {};
  const stopped = new Set<string>();
  const offer = (operation: VerifiedOperation) =>
    store.execute({
      ...command,
      operations: [operation],
      heads: command.heads.filter((head) => head.origin === operation.origin && head.seq === operation.seq),
      nonce: null,
    });
  for (const operation of command.operations) {
    const { origin, seq } = operation;
    if (stopped.has(origin)) continue;
    let outcome = await offer(operation);
    // A parked operation does not block its origin, and the rules see it again later.
    if (!outcome.ok && breaksAlone(outcome.error, clock.nowMs()))
      outcome = await offer({ ...operation, refusal: 'internal' });
    if (!outcome.ok) {
      stopped.add(origin);
      parked.push({ op_id: operationId(origin, seq), reason: 'internal' });
      continue;
    }
    const { value } = outcome;
    applied += value.applied;
    noop += value.noop;
    refused.push(...value.refused);
    parked.push(...value.parked);
    Object.assign(have, value.have);
    if (value.refused.length > 0) stopped.add(origin);
  }
  return { applied, noop, refused, parked, have };
}
