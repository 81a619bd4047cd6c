import type { ErrorCode } from '../../../protocol/base/errors.js';
import type { Peer } from '../../../protocol/peers/peer.js';
import type { Push, PushArray } from '../../../protocol/wire/push-message.js';

/** An item that was not taken. */
export interface SkippedItem {
  readonly array: PushArray;
  readonly index: number;
  readonly code: ErrorCode;
  readonly error: string;
}

/** The outcome of the arrays of a push. */
export interface ItemCounts {
  readonly applied: number;
  readonly noop: number;
  readonly skipped: readonly SkippedItem[];
  /** The counters of other releases (reference-federation §1.4). */
  readonly counters: Readonly<Record<string, number>>;
}

/** Takes the arrays of senders without operations. */
export interface LegacyPush {
  take(push: Push, peer: Peer): Promise<ItemCounts>;
}

export const NO_COUNTERS = {
  deleted: 0,
  archived: 0,
  restored: 0,
  links_applied: 0,
  pendings_applied: 0,
  pending_decisions_applied: 0,
  namespace_meta_applied: 0,
  namespace_meta_cleared: 0,
  signals_applied: 0,
  action_transitions_applied: 0,
} as const;

export const NO_ITEMS: ItemCounts = { applied: 0, noop: 0, skipped: [], counters: NO_COUNTERS };
