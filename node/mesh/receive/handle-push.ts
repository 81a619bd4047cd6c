import { applyVerified } from '../../../actors/mesh/apply-verified.js';
import { hlcMs } from '../../../protocol/base/hlc.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock } from '../../../protocol/base/seams.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { peerOfOrigin } from '../../../protocol/log/wire-operation.js';
import type { Peer } from '../../../protocol/peers/peer.js';
import type { ApplyOutcome } from '../../../protocol/replication/apply-operations.js';
import type { UsedNonce } from '../../../protocol/replication/used-nonce.js';
import type { Verifier } from '../../../protocol/replication/verifier.js';
import type { PushReply } from '../../../protocol/wire/bodies.js';
import { PUSH_ARRAYS, type Push } from '../../../protocol/wire/push-message.js';
import { readHeads, readOperation } from '../../../protocol/wire/wire-schema.js';
import type { Store } from '../../../storage/port.js';
import { VERSION } from '../../version.js';
import { type ItemCounts, type LegacyPush, NO_ITEMS } from './legacy-push.js';
import type { Authenticated, MessageGate } from './message-gate.js';

export interface PushParts {
  readonly store: Store;
  readonly gate: MessageGate;
  readonly verifier: Verifier;
  readonly clock: Clock;
  readonly peerId: string;
  /** Takes the arrays of other releases; null skips them. */
  readonly legacy: LegacyPush | null;
}

/** The answer to a push: this release's members, and the counters of other releases. */
export type PushAnswer = PushReply & Readonly<Record<string, unknown>>;

/**
 * Applies a push whose sender is known (interface §4.10). Durable when it answers. No item affects another: an
 * operation on which a rule throws is parked by itself.
 */
export async function handlePush(
  parts: PushParts,
  push: Push,
  authenticated: Authenticated,
): Promise<Result<PushAnswer>> {
  const known = parts.store.query({ kind: 'known-origins' });
  const { peer, nonce } = authenticated;
  const read = push.operations.map(readOperation);
  await parts.verifier.ready();
  const batch = parts.verifier.batch(read, readHeads(push.heads));

  let outcome: ApplyOutcome | null = null;
  if (!push.dryRun && batch.operations.length > 0) {
    const use = (used: UsedNonce | null) => parts.gate.use(used);
    const applied = await applyVerified(parts, batch, peer.peerId, nonce, use);
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

/** Most skipped items that an answer names. */
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
  if (parts.legacy !== null) return parts.legacy.take(push, peer);
  const skipped = PUSH_ARRAYS.flatMap((array) =>
    push.arrays[array].map((_, index) => ({
      array,
      index,
      code: 'UNAVAILABLE' as const,
      error: 'this node does not take items of this array',
    })),
  );
  return { ...NO_ITEMS, skipped };
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
