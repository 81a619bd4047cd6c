import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import type { PendingOutcome, VotePending } from '../../../protocol/policies/decide-pending.js';
import { pendingKind } from '../../../protocol/policies/pending-kind.js';
import type { Remember } from '../../../protocol/policies/vote-kind.js';
import { rulingViewer } from '../../identity/caller.js';
import type { Call } from '../../pipeline/call.js';

export interface VoteRequest {
  readonly id: string;
  readonly decision: 'approve' | 'deny';
  readonly remember: Remember;
}

/** What a vote led to. */
export interface VoteAnswer extends PendingOutcome {
  /** True when the home of the action did not hear of the vote yet. */
  readonly recordedOnly: boolean;
}

/**
 * Votes on a pending action as the caller. Only the home of the action decides it; where it cannot be reached, the vote is
 * recorded here and counts when the home hears of it.
 */
export async function voteOn(
  call: Call,
  { id: given, decision, remember }: VoteRequest,
): Promise<Result<VoteAnswer>> {
  const { caller, services } = call;
  const id = await pendingIdOf(call, given);
  if (!id.ok) return failed(id.error);
  const vote: VotePending = {
    kind: 'vote-pending',
    pendingId: id.value,
    // A process that is bound to an agent votes as that agent, whatever name the call gives.
    agentId: caller.viewer.agentId ?? caller.agentId,
    decision,
    remember,
  };
  const result = await services.store.execute(vote);
  if (result.ok) return ok({ ...result.value, recordedOnly: false });
  const { code } = result.error;
  if (code !== 'HOME_UNREACHABLE' && code !== 'NOT_HOME') return failed(result.error);
  const recorded = await services.store.execute({ ...vote, recordOnly: true });
  return recorded.ok ? ok({ ...recorded.value, recordedOnly: true }) : failed(recorded.error);
}

/** The whole id of the action that begins so and that the caller may know of; an unknown one stays as it was given. */
async function pendingIdOf({ caller, services, now }: Call, given: string): Promise<Result<string>> {
  if (given.length >= UUID_LENGTH) return ok(given);
  const viewer = rulingViewer(caller);
  const where = { pending_id: { from: given, before: `${given}\u{10ffff}` } };
  const found = await services.store.query({
    ...{ kind: 'find-records', of: pendingKind.name, where, limit: 2, skipDamaged: true, viewer, now },
  });
  if (!found.ok) return failed(found.error);
  const [id = given, ...others] = rowsOf(pendingKind, found.value).map(({ pending_id }) => pending_id);
  return others.length === 0
    ? ok(id)
    : fail('AMBIGUOUS_ID_PREFIX', 'this id prefix matches more than one pending action');
}

const UUID_LENGTH = 36;

/** The answer to an approval (reference-http §1, row 51). */
export function approvalAnswer({ pending, votes, needed, recordedOnly }: VoteAnswer) {
  const { pending_id: id, decided_by, memory_id, status } = pending;
  if (status === 'approved') return { approved: true, id, decided_by, executed: true, memory_id };
  const reason = recordedOnly
    ? 'the home node of the action cannot be reached; it counts the vote when it hears of it'
    : `${votes} of ${needed} votes`;
  return { approved: false, status: 'pending' as const, id, votes, quorum: needed, reason };
}

/** The answer to a rejection (reference-http §1, row 52). */
export function rejectionAnswer({ pending, votes, needed, recordedOnly }: VoteAnswer) {
  const { pending_id: id, decided_by, status } = pending;
  if (status === 'rejected') return { rejected: true, id, decided_by };
  return approvalAnswer({ pending, votes, needed, recordedOnly });
}
