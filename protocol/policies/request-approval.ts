import { PENDING_SECONDS_MAX, PENDINGS_OPEN_MAX } from '../base/limits.js';
import type { AgentId, MemoryId } from '../base/meanings.js';
import { fail, failed } from '../base/result.js';
import { instantAfter } from '../base/time.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided, type PutAside } from '../decide/deciding.js';
import { numbered } from '../decide/home.js';
import { ownOrigin, tombstoneOf } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import { requesterViewer } from '../decide/requester.js';
import type { SeenRow } from '../decide/rows.js';
import { chargeRequest } from '../identity/ensure-quota.js';
import { quotaHolder } from '../identity/quota.js';
import { homeId } from '../kinds/home.js';
import { NO_REST } from '../kinds/payload.js';
import { peerOfOrigin } from '../log/wire-operation.js';
import type { Approver } from '../namespaces/effective-policy.js';
import { type AskedPlace, type ComingRow, type PendingAction, pendingKind } from './pending-kind.js';
import { openPendings } from './reads.js';

/** Puts a command aside until it is approved (interface §2.6). This node is the home of the pending action. */
export interface RequestApproval {
  readonly kind: 'request-approval';
  readonly pendingId: string;
  readonly command: PutAside;
  readonly action: string;
  readonly namespace: string;
  readonly memoryId: MemoryId | null;
  readonly approver: Approver;
  /** The caller, as which the command runs when it is approved. */
  readonly requestedBy: AgentId | null;
  /** The agent that the call named for its writes; absent where that is the caller. */
  readonly writtenAs?: AgentId | null;
  /** The rows that the command is about. */
  readonly reads?: readonly SeenRow[];
  /** What it would write, where the command does not say it. */
  readonly becomes?: readonly ComingRow[];
  /** Where it waits. */
  readonly asked?: readonly AskedPlace[];
}

/** What `request-approval` answers. */
export interface RequestApprovalOutcome {
  readonly pending: PendingAction;
}

/**
 * QUOTA_EXCEEDED when too many actions of the agent wait already, or it has requested or written as much as it may in a day:
 * a request is charged as what it stores would be; PENDING_ACTION_STATE_INVALID for a request that was sent
 * before and whose action is removed: it would be executed again.
 */
function* decideRequestApproval(
  request: RequestApproval,
  context: DecisionContext,
): Deciding<RequestApprovalOutcome> {
  const { pendingId, requestedBy } = request;
  const self = peerOfOrigin((yield* ownOrigin()).origin);
  const id = homeId(self, pendingId);
  // The call may be one that was sent before and not answered.
  const known = yield* recordRow(pendingKind, id);
  if (known !== null) return decided({ pending: known.image }, []);
  if ((yield* tombstoneOf({ kind: pendingKind.name, id })) !== null) {
    return fail('PENDING_ACTION_STATE_INVALID', 'this action was decided long ago; send a new request', {
      id: pendingId,
    });
  }
  const open = yield* openPendings({ requestedBy, limit: PENDINGS_OPEN_MAX });
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
  const holder = quotaHolder(requestedBy ?? OPERATOR);
  const charge = yield* chargeRequest(holder, context);
  if (!charge.ok) return failed(charge.error);
  const image: PendingAction = yield* numbered(id, pendingOf(request, context));
  const { namespace } = request;
  const written = yield* putRecord(pendingKind, { id, namespace }, image);
  const mutations = [written, charge.value];
  return { ok: true, value: { value: { pending: image }, mutations, chargedTo: holder } };
}

/** Who pays for a request without an agent. */
const OPERATOR = 'operator';

/** The action as it is stored. Its command names its caller, so that an older release runs it for that agent too. */
function pendingOf(request: RequestApproval, context: DecisionContext): PendingAction {
  const { pendingId, command, action, namespace, memoryId, approver, requestedBy } = request;
  return {
    rest: NO_REST,
    pending_id: pendingId,
    action_type: action,
    namespace,
    memory_id: memoryId,
    command: { ...command, viewer: requesterViewer(requestedBy) },
    approver: { ...approver },
    requested_by: requestedBy,
    written_as: request.writtenAs ?? null,
    reads: request.reads ?? [],
    becomes: request.becomes ?? [],
    asked: request.asked ?? [],
    requested_at: context.now,
    expires_at: instantAfter(context.now, PENDING_SECONDS_MAX),
    status: 'pending',
    approvals: [],
    decided_by: null,
    decided_at: null,
    remember: null,
  };
}

export const requestApprovalCommand = defineCommand({
  kind: 'request-approval',
  decide: decideRequestApproval,
  gate: 'governance',
});
