import type { ApprovalEvent } from '../../protocol/governance/queries.js';
import type { PendingState } from '../../protocol/kinds/pending-kind.js';

/** Milliseconds after which a client that lost the stream comes back. */
const RETRY_MS = 2000;

const encoder = new TextEncoder();
const bytes = (text: string): Uint8Array => encoder.encode(text);

/** The first bytes of a stream. A frame with an id and no data moves the client's place and is no event. */
export const beginFrame = (place: number): Uint8Array =>
  bytes(`: approvals\nretry: ${RETRY_MS}\nid: ${place}\n\n`);

export const KEEPALIVE = bytes(': keepalive\n\n');

/** A keepalive for a listener that has all events up to `place`. */
export const keepaliveFrame = (place: number): Uint8Array => bytes(`: keepalive\nid: ${place}\n\n`);

const LAGGED_EVENT = 'event: lagged\ndata: {"lagged":true}\n\n';

/** Without an id, so that a client that comes back gets what it has missed. */
export const LAGGED = bytes(LAGGED_EVENT);

/** For a client whose place is not known any more: it begins at `place`. */
export const laggedFrame = (place: number): Uint8Array => bytes(`id: ${place}\n${LAGGED_EVENT}`);

const DECISIONS: Readonly<Record<PendingState, string>> = {
  pending: 'pending',
  approved: 'approve',
  rejected: 'deny',
  expired: 'expired',
};

/** An event as listeners get it (reference-http §3.9). */
export function eventFrame({ id, event, pending }: ApprovalEvent): Uint8Array {
  const { pending_id, action_type, namespace, requested_by, requested_at } = pending;
  const data =
    event === 'approval_requested'
      ? { event, pending_id, action_type, namespace, requested_by, requested_at }
      : {
          event,
          pending_id,
          decision: DECISIONS[pending.status],
          decided_by: pending.decided_by,
          remember: pending.remember,
          namespace,
          requested_by,
        };
  return bytes(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
