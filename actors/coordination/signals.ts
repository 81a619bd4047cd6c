import { ADOPTIONS_MAX } from '../../protocol/base/limits.js';
import type { Instant, PeerId } from '../../protocol/base/meanings.js';
import { checkpointKind } from '../../protocol/coordination/checkpoint-kind.js';
import { SWEEP_BATCH_MAX } from '../../protocol/coordination/limits.js';
import { routineRunKind } from '../../protocol/coordination/routine-kind.js';
import { signalKind } from '../../protocol/coordination/signal-kind.js';
import { signalReceiptKind } from '../../protocol/coordination/signal-receipt-kind.js';
import { adoptionKind } from '../../protocol/decide/adoption-kind.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import type { Kind } from '../../protocol/kinds/kind.js';
import type { Store } from '../../storage/port.js';

/**
 * Removes signals that have expired, and receipts of such signals, which this node took. Answers whether there may be more.
 */
export async function sweepSignals(store: Store, peerId: PeerId, now: Instant): Promise<boolean> {
  const signals = await expired(store, signalKind, peerId, now);
  const receipts = await expired(store, signalReceiptKind, peerId, now);
  if (signals.length + receipts.length === 0) return false;
  const swept = await store.execute({ kind: 'sweep-signals', signals, receipts }, { lane: 'background' });
  return swept.ok && swept.value.removed >= SWEEP_BATCH_MAX;
}

async function expired<I extends object>(
  store: Store,
  kind: Kind<I>,
  maker: PeerId,
  now: Instant,
): Promise<readonly string[]> {
  const found = await store.query({
    ...{ kind: 'find-records', of: kind.name, where: { maker, expires_at: { to: now } } },
    ...{ order: { by: 'expires_at' }, limit: SWEEP_BATCH_MAX, viewer: null, now, skipDamaged: true },
  });
  return found.ok ? rowsOf(kind, found.value).map((image) => kind.idOf(image)!) : [];
}

/**
 * Ends the checkpoints whose deadline has passed and of which this node is the home: those that it made, and those of the
 * nodes whose subjects it adopted.
 */
export async function expireCheckpoints(store: Store, peerId: PeerId, now: Instant): Promise<boolean> {
  const ids: string[] = [];
  for (const maker of await makersHere(store, peerId, now)) {
    const due = await store.query({
      ...{ kind: 'find-records', of: checkpointKind.name, order: { by: 'deadline_at' } },
      where: { maker, state: 'pending', deadline_at: { to: now } },
      ...{ limit: SWEEP_BATCH_MAX, viewer: null, now, skipDamaged: true },
    });
    if (due.ok) ids.push(...rowsOf(checkpointKind, due.value).map((each) => checkpointKind.idOf(each)!));
  }
  if (ids.length === 0) return false;
  const batch = ids.slice(0, SWEEP_BATCH_MAX);
  const done = await store.execute({ kind: 'expire-checkpoints', ids: batch }, { lane: 'background' });
  return done.ok && done.value.expired >= SWEEP_BATCH_MAX;
}

/** Removes the runs of this node, and of those that it adopted, that ended before an instant. Answers whether there may be more. */
export async function sweepRuns(store: Store, peerId: PeerId, before: Instant): Promise<boolean> {
  const ids: string[] = [];
  for (const maker of await makersHere(store, peerId, before)) {
    const ended = await store.query({
      ...{ kind: 'find-records', of: routineRunKind.name, where: { maker, finished_at: { to: before } } },
      ...{ order: { by: 'finished_at' }, limit: SWEEP_BATCH_MAX },
      ...{ viewer: null, now: before, skipDamaged: true },
    });
    if (ended.ok) ids.push(...rowsOf(routineRunKind, ended.value).map((each) => routineRunKind.idOf(each)!));
  }
  if (ids.length === 0) return false;
  const done = await store.execute({ kind: 'sweep-runs', ids, before }, { lane: 'background' });
  return done.ok && done.value.removed >= SWEEP_BATCH_MAX;
}

/** The nodes whose subjects have their home here: this one, and those that it adopted. */
async function makersHere(store: Store, peerId: PeerId, now: Instant): Promise<readonly PeerId[]> {
  const adopted = await store.query({
    ...{ kind: 'find-records', of: adoptionKind.name, where: { home: peerId }, limit: ADOPTIONS_MAX },
    ...{ viewer: null, now, skipDamaged: true },
  });
  const makers = adopted.ok ? rowsOf(adoptionKind, adopted.value).map(({ peer_id }) => peer_id) : [];
  return [...new Set([peerId, ...makers])];
}
