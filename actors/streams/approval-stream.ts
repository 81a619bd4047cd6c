import { failed, type Result } from '../../protocol/base/result.js';
import type { PendingState } from '../../protocol/policies/pending-kind.js';
import { mayKnow } from '../../protocol/policies/pending-kind.js';
import type { ApprovalEvent } from '../../protocol/policies/queries.js';
import { dataFrame } from './frames.js';
import {
  type Admission,
  type Listening,
  LogStream,
  type LogStreamParts,
  type StreamPage,
} from './log-stream.js';
import * as limits from './stream-limits.js';

/** The stream of approvals (interface §6.3). */
export class ApprovalStream extends LogStream {
  readonly #store: LogStreamParts['store'];

  constructor(parts: LogStreamParts) {
    super(parts, {
      name: 'approvals',
      instead: 'poll GET /pending',
      listenersMax: limits.STREAM_LISTENERS_MAX,
      unreadBytesMax: limits.STREAM_UNREAD_BYTES_MAX,
      page: (after) => approvalPage(parts.store, after),
    });
    this.#store = parts.store;
  }

  /** A registered agent hears of what any agent may decide. */
  override async admit(viewer: Listening, after: number | null): Promise<Result<Admission>> {
    const { agentId } = viewer;
    if (viewer.all || agentId === null) return await super.admit(viewer, after);
    const known = await this.#store.query({ kind: 'is-registered', agentId });
    if (!known.ok) return failed(known.error);
    return await super.admit({ ...viewer, isRegistered: known.value.registered }, after);
  }
}

async function approvalPage(store: LogStreamParts['store'], after: number): Promise<StreamPage | null> {
  const query = { kind: 'approval-events', after, limit: limits.STREAM_EVENTS_PER_ROUND } as const;
  const found = await store.query(query, { lane: 'background' });
  if (!found.ok) return null;
  const { events, through, more } = found.value;
  return {
    through,
    more,
    events: events.map((event) => ({
      id: event.id,
      frame: eventFrame(event),
      mayHear: (viewer) => mayKnow(event.pending, viewer, viewer.isRegistered === true),
    })),
  };
}

const DECISIONS: Readonly<Record<PendingState, string>> = {
  pending: 'pending',
  approved: 'approve',
  rejected: 'deny',
  expired: 'expired',
};

/** An event as listeners get it (reference-http §3.9). */
function eventFrame({ id, event, pending }: ApprovalEvent): Uint8Array {
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
  return dataFrame(id, event, data);
}
