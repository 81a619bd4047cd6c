import { type Deciding, type DecisionContext, decided, type PutAside } from '../decide/deciding.js';
import { numbered } from '../decide/home.js';
import { read } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import { homeId } from '../kinds/home.js';
import { NO_REST } from '../kinds/payload.js';
import { type PendingAction, pendingKind } from '../kinds/pending-kind.js';
import { PENDING_SECONDS_MAX, PENDINGS_OPEN_MAX } from '../limits.js';
import type { AgentId, MemoryId } from '../meanings.js';
import { peerOfOrigin } from '../mesh/wire.js';
import { fail } from '../result.js';
import { instantAfter } from '../time.js';
import type { Approver } from './effective-policy.js';

/** Puts a command aside until it is approved (interface §2.6). This node is the home of the pending action. */
export interface RequestApproval {
  readonly kind: 'request-approval';
  readonly pendingId: string;
  readonly command: PutAside;
  readonly action: string;
  readonly namespace: string;
  readonly memoryId: MemoryId | null;
  readonly approver: Approver;
  readonly requestedBy: AgentId | null;
}

/** What `request-approval` answers. */
export interface RequestApprovalOutcome {
  readonly pending: PendingAction;
}

/**
 * QUOTA_EXCEEDED when too many actions of the agent wait already; PENDING_ACTION_STATE_INVALID for a request that was sent
 * before and whose action is removed: it would be executed again.
 */
export function* decideRequestApproval(
  { pendingId, command, action, namespace, memoryId, approver, requestedBy }: RequestApproval,
  context: DecisionContext,
): Deciding<RequestApprovalOutcome> {
  const self = peerOfOrigin((yield* read('log-origin', {})).origin);
  const id = homeId(self, pendingId);
  // The call may be one that was sent before and not answered.
  const known = yield* recordRow(pendingKind, id);
  if (known !== null) return decided({ pending: known.image }, []);
  if ((yield* read('tombstone', { kind: pendingKind.name, id })) !== null) {
    return fail('PENDING_ACTION_STATE_INVALID', 'this action was decided long ago; send a new request', {
      id: pendingId,
    });
  }
  const open = yield* read('open-pendings', { requestedBy, limit: PENDINGS_OPEN_MAX });
  if (open >= PENDINGS_OPEN_MAX) {
    return fail(
      'QUOTA_EXCEEDED',
      `${open} actions of this agent wait for approval; have them decided first`,
      {
        limit: 'pending_actions',
        current: open,
        max: PENDINGS_OPEN_MAX,
      },
    );
  }
  const image: PendingAction = yield* numbered(id, {
    rest: NO_REST,
    pending_id: pendingId,
    action_type: action,
    namespace,
    memory_id: memoryId,
    command: { ...command },
    approver: { ...approver },
    requested_by: requestedBy,
    requested_at: context.now,
    expires_at: instantAfter(context.now, PENDING_SECONDS_MAX),
    status: 'pending',
    approvals: [],
    decided_by: null,
    decided_at: null,
    remember: null,
  } satisfies PendingAction);
  return decided({ pending: image }, [yield* putRecord(pendingKind, { id, namespace }, image)]);
}
