import type { Fired } from '../../actors/hooks/hook-chain.js';
import { subtreeRoot } from '../../protocol/base/ids.js';
import type { MemoryId } from '../../protocol/base/meanings.js';
import { detailsOf, type Failure, failed, ok, type Result } from '../../protocol/base/result.js';
import type { HookPayload } from '../../protocol/hooks/decision.js';
import type { HookEvent } from '../../protocol/hooks/events.js';
import type { ForgetFilter } from '../../protocol/memory/forget-filter.js';
import type { Command } from '../../protocol/release.js';
import { COMMANDS } from '../../protocol/release.js';
import type { Store } from '../../storage/port.js';
import { consult, type HookRun, vetoOf } from './run-hooks.js';

/** What a policy is asked about, as hooks hear it: once for each namespace. */
export interface HeardAction {
  readonly action: string;
  /** The namespaces that it changes, each once. */
  readonly namespaces: readonly string[];
  /** Null for several. */
  readonly memoryId: MemoryId | null;
  /** True where it may change other namespaces too, so that every hook of the event is asked. */
  readonly everywhere?: true;
}

const BEFORE = 'pre_governance_decision';
const AFTER = 'post_governance_decision';

export const isGovernanceHeard = ({ hooks }: HookRun): boolean => hooks.has(BEFORE) || hooks.has(AFTER);

type HeardStore = Pick<Store, 'query' | 'execute'>;

/**
 * What hooks hear of a command that policies gate: what its policy is asked, found out before the command is decided. Null for
 * other commands, and for one that changes nothing; the failure of one that fails.
 */
export async function heardAction(command: Command, store: HeardStore): Promise<Result<HeardAction | null>> {
  if (command.kind === 'forget-memories') return ok(forgetting(command.filter));
  const looked = await store.execute({ kind: 'look-at-action', command });
  if (!looked.ok) return failed(looked.error);
  const { action } = looked.value;
  return ok(action === null ? null : { action: COMMANDS.actionOf(command)!, ...action });
}

/** A forget that is not about one namespace may remove memories of every one. */
const forgetting = ({ namespace }: ForgetFilter): HeardAction => ({
  ...{ action: 'forget', namespaces: [namespace ?? ''], memoryId: null },
  ...(namespace === null || subtreeRoot(namespace) !== null ? { everywhere: true } : {}),
});

const firingsOf = (
  event: HookEvent,
  { action, namespaces, everywhere }: HeardAction,
  said: HookPayload,
): readonly Fired[] =>
  namespaces.map((namespace) => ({
    ...{ event, namespace, payload: { namespace, action, ...said } },
    ...(everywhere === true ? { everywhere } : {}),
  }));

/** Null when the policy may decide. */
export async function beforeGovernance(run: HookRun, action: HeardAction): Promise<Failure | null> {
  const { memoryId } = action;
  const said = { agent_id: run.agentId, ...(memoryId === null ? {} : { memory_id: memoryId }) };
  for (const fired of firingsOf(BEFORE, action, said)) {
    const verdict = await consult(run, fired);
    if ('denial' in verdict) return vetoOf(BEFORE, verdict.denial);
  }
  return null;
}

/** What was decided about an action, as hooks hear it. */
export type PolicyOutcome = 'allow' | 'deny' | 'ask';

/** Tells what the policy decided. */
export function afterGovernance(
  run: HookRun,
  action: HeardAction,
  outcome: PolicyOutcome,
  failure: Failure | null,
): void {
  if (!run.hooks.has(AFTER)) return;
  const reason = failure === null ? {} : { reason: failure.message };
  const waiting = failure === null ? null : detailsOf(failure, 'APPROVAL_PENDING');
  const pending = waiting === null ? {} : { pending_id: waiting.pending_id };
  const firings = firingsOf(AFTER, action, { agent_id: run.agentId, outcome, ...reason, ...pending });
  run.hooks.later({ bytes: failure?.message.length ?? 0, firings: () => Promise.resolve(firings) });
}

/** Null for a command that failed for another reason: it was not decided about. */
export function outcomeOf(failure: Failure | null): PolicyOutcome | null {
  if (failure === null) return 'allow';
  if (failure.code === 'APPROVAL_PENDING') return 'ask';
  return failure.code === 'GOVERNANCE_REFUSED' ? 'deny' : null;
}
