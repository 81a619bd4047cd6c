import { hlcMs } from '../../../protocol/hlc.js';
import type { Peer } from '../../../protocol/mesh/peer.js';
import type {
  ApplyOperations,
  ApplyOutcome,
  VerifiedBatch,
  VerifiedOperation,
} from '../../../protocol/mesh/store-terms.js';
import type {
  OperationPage,
  ParkedOperation,
  PushReply,
  RefusedOperation,
} from '../../../protocol/mesh/wire.js';
import { peerOfOrigin } from '../../../protocol/mesh/wire.js';
import { operationId } from '../../../protocol/operation-log.js';
import { type Failure, failed, ok, type Result } from '../../../protocol/result.js';
import type { Clock, Crypto } from '../../../protocol/seams.js';
import { instantFromMs, parseRfc3339Ms } from '../../../protocol/time.js';
import type { Store } from '../../../storage/port.js';
import { VERSION } from '../../version.js';
import type { AuthorJudge } from './author.js';
import type { Believed, MessageGate } from './message-gate.js';
import { type ItemCounts, NO_ITEMS, type OldStylePush } from './old-style-push.js';
import { type Origins, verifyOperations } from './verify-operations.js';
import { PUSH_ARRAYS, type Push, readHeads, readOperation } from './wire-schema.js';

export interface PushParts {
  readonly store: Store;
  readonly gate: MessageGate;
  readonly origins: Origins;
  readonly authors: AuthorJudge;
  readonly clock: Clock;
  readonly crypto: Crypto;
  readonly peerId: string;
  /** Takes the arrays of other releases; null skips them. */
  readonly oldStyle: OldStylePush | null;
}

/** The answer of a push: ours, and the counters of other releases beside it. */
export type PushAnswer = PushReply & Readonly<Record<string, unknown>>;

/**
 * Applies a push whose sender is known (interface §4.10). Durable when it answers. What one item does never costs
 * another: an operation over which the rules break is parked alone.
 */
export async function handlePush(
  parts: PushParts,
  push: Push,
  believed: Believed,
): Promise<Result<PushAnswer>> {
  const known = parts.store.query({ kind: 'known-origins' });
  const { peer, nonce } = believed;
  const read = push.operations.map(readOperation);
  const batch = verifyOperations(read, readHeads(push.heads), parts.origins, parts.authors, parts.crypto);

  let outcome: ApplyOutcome | null = null;
  if (!push.dryRun && batch.operations.length > 0) {
    const applied = await applyBatch(parts, peer.peerId, batch, believed);
    if (!applied.ok) {
      parts.gate.failed(nonce, applied.error);
      await known;
      return failed(applied.error);
    }
    outcome = applied.value;
  } else {
    const used = await parts.gate.use(nonce);
    if (!used.ok) {
      await known;
      return failed(used.error);
    }
  }
  const items = push.dryRun ? dryRun(push) : await oldStyleItems(parts, push, peer);
  const origins = await known;
  if (!origins.ok) return failed(origins.error);

  const refused = [...batch.refused, ...(outcome?.refused ?? [])];
  const parked = outcome?.parked ?? [];
  const have: Record<string, number> = {};
  for (const { origin } of [...batch.operations, ...refused]) {
    have[origin] = outcome?.have[origin] ?? origins.value.heads[origin]?.seq ?? 0;
  }
  const unwritten = push.dryRun ? batch.operations.length : 0;
  return ok({
    applied: items.applied + (outcome?.applied ?? 0),
    noop: items.noop + (outcome?.noop ?? 0) + unwritten,
    skipped: items.skipped.length + refused.length + parked.length + batch.unreadable,
    ...items.counters,
    receiver_agent_id: parts.peerId,
    receiver_clock: { entries: clockEntries(origins.value.stamps) },
    dry_run: push.dryRun,
    have,
    refused,
    parked,
    ...(items.skipped.length > 0 ? { skipped_items: items.skipped.slice(0, SKIPPED_NAMED_MAX) } : {}),
    wall_clock: instantFromMs(parts.clock.nowMs()),
    version: VERSION,
  });
}

/** Skipped items that an answer names. */
const SKIPPED_NAMED_MAX = 100;

function dryRun(push: Push): ItemCounts {
  const noop = PUSH_ARRAYS.reduce(
    (sum, name) => sum + (name === 'embeddings' ? 0 : push.arrays[name].length),
    0,
  );
  return { ...NO_ITEMS, noop };
}

async function oldStyleItems(parts: PushParts, push: Push, peer: Peer): Promise<ItemCounts> {
  if (PUSH_ARRAYS.every((name) => push.arrays[name].length === 0)) return NO_ITEMS;
  if (parts.oldStyle !== null) return parts.oldStyle.take(push, peer);
  const skipped = PUSH_ARRAYS.flatMap((array) =>
    push.arrays[array].map((_, index) => ({
      array,
      index,
      code: 'UNAVAILABLE' as const,
      error: 'not taken here',
    })),
  );
  return { ...NO_ITEMS, skipped };
}

/** Verifies a page that a peer answered, as with a push. */
export function judgePage({ origins, authors, crypto }: PushParts, page: OperationPage): VerifiedBatch {
  const read = page.operations.map((operation) => ({ ok: true as const, operation }));
  return verifyOperations(read, page.heads, origins, authors, crypto);
}

/** Has the store take a page, as with a push. */
export async function takePage(
  parts: PushParts,
  batch: VerifiedBatch,
  from: string,
): Promise<Result<ApplyOutcome>> {
  const applied = await applyBatch(parts, from, batch, { nonce: null });
  if (!applied.ok) return applied;
  return ok({ ...applied.value, refused: [...batch.refused, ...applied.value.refused] });
}

/** Offers a batch; when the rules break over it, its operations one by one. */
async function applyBatch(
  parts: PushParts,
  from: string,
  batch: VerifiedBatch,
  { nonce }: Pick<Believed, 'nonce'>,
): Promise<Result<ApplyOutcome>> {
  const { operations, heads } = batch;
  const command: ApplyOperations = { kind: 'apply-operations', from, operations, heads, nonce };
  const together = await parts.store.execute(command);
  if (together.ok || !breaksAlone(together.error, parts.clock.nowMs())) return together;
  const used = await parts.gate.use(nonce);
  if (!used.ok) return failed(used.error);
  return ok(await applyOneByOne(parts, command));
}

/** How long a damaged row may hold up what peers send, until only its own operations wait. */
const DAMAGE_HOLDS_UP_MS = 60_000;

/** True where one operation must not hold up the others: the rules break over it, or its row cannot be repaired. */
function breaksAlone({ code, details }: Failure, nowMs: number): boolean {
  if (code === 'INTERNAL') return true;
  const sinceMs = parseRfc3339Ms(String(details?.['damaged_since'] ?? ''));
  return code === 'DATA_DAMAGED' && sinceMs !== null && nowMs - sinceMs > DAMAGE_HOLDS_UP_MS;
}

async function applyOneByOne({ store, clock }: PushParts, command: ApplyOperations): Promise<ApplyOutcome> {
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
    // In the log without effect it holds nobody up, and is offered to the rules again later.
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

/** The latest stamp of each peer, over all of its epochs, as an instant. */
function clockEntries(stamps: Readonly<Record<string, string>>): Record<string, string> {
  const latest: Record<string, string> = {};
  for (const [origin, stamp] of Object.entries(stamps)) {
    const peerId = peerOfOrigin(origin);
    if ((latest[peerId] ?? '') < stamp) latest[peerId] = stamp;
  }
  return Object.fromEntries(
    Object.entries(latest).map(([peerId, stamp]) => [peerId, instantFromMs(hlcMs(stamp))]),
  );
}
