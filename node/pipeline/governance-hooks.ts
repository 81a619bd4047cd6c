import type { Command } from '../../protocol/commands.js';
import { isGated } from '../../protocol/governance/gated-action.js';
import type { HookPayload } from '../../protocol/hooks/decision.js';
import type { MemoryId } from '../../protocol/meanings.js';
import type { Viewer } from '../../protocol/ranking/types.js';
import type { Failure } from '../../protocol/result.js';
import type { ReadStore } from '../../storage/port.js';
import { consult, type HookRun, vetoOf } from './run-hooks.js';

/** What a policy is asked about, as hooks hear it. */
export interface GovernedPlace {
  readonly action: string;
  readonly namespace: string;
  readonly memoryId: MemoryId | null;
}

const BEFORE = 'pre_governance_decision';
const AFTER = 'post_governance_decision';

export const isGovernanceHeard = ({ hooks }: HookRun): boolean => hooks.has(BEFORE) || hooks.has(AFTER);

/**
 * The place of a command that policies gate (`gatedAction`); null for others, and for one about no memory that is there. The
 * namespace is empty where the command names none.
 */
export async function governedPlace(
  command: Command,
  store: Pick<ReadStore, 'query'>,
  now: string,
): Promise<GovernedPlace | null> {
  if (!isGated(command.kind)) return null;
  const at = async (action: string, id: MemoryId, viewer: Viewer): Promise<GovernedPlace | null> => {
    const found = await store.query({ kind: 'get-memory', id, linksMax: 0, viewer, now });
    return found.ok ? { action, namespace: found.value.memory.namespace, memoryId: id } : null;
  };
  switch (command.kind) {
    case 'store-memory':
    case 'register-entity':
      return { action: 'store', namespace: command.memory.namespace, memoryId: command.memory.id };
    case 'update-memory':
      return at('update', command.id, command.viewer);
    case 'promote-memory':
      return at('promote', command.id, command.viewer);
    case 'delete-memory':
      return at('delete', command.id, command.viewer);
    case 'restore-memory':
      return { action: 'restore', namespace: '', memoryId: command.id };
    case 'undo-edit':
      return command.dryRun ? null : at('update', command.id, command.viewer);
    case 'resolve-memories':
      return at('resolve', command.loserId, command.viewer);
    case 'consolidate-memories':
      return { action: 'consolidate', namespace: command.result.namespace, memoryId: command.result.id };
    case 'archive-memories': {
      const [first] = command.ids;
      const place = first === undefined ? null : await at('archive', first, command.viewer);
      return place === null ? null : { ...place, memoryId: command.ids.length === 1 ? place.memoryId : null };
    }
    case 'forget-memories':
      return { action: 'forget', namespace: command.filter.namespace ?? '', memoryId: null };
    default:
      return { action: command.kind, namespace: '', memoryId: null };
  }
}

const payloadOf = ({ agentId }: HookRun, { action, namespace, memoryId }: GovernedPlace): HookPayload => ({
  ...{ namespace, action, agent_id: agentId },
  ...(memoryId === null ? {} : { memory_id: memoryId }),
});

/** Null when the policy may decide. */
export async function beforeGovernance(run: HookRun, place: GovernedPlace): Promise<Failure | null> {
  const { namespace } = place;
  const verdict = await consult(run, { event: BEFORE, namespace, payload: payloadOf(run, place) });
  return 'denial' in verdict ? vetoOf(BEFORE, verdict.denial) : null;
}

/** Tells what the policy decided; a command that failed for another reason was not decided about. */
export function afterGovernance(run: HookRun, place: GovernedPlace, failure: Failure | null): void {
  const outcome = outcomeOf(failure);
  if (outcome === null || !run.hooks.has(AFTER)) return;
  const { memory_id: _id, ...said } = payloadOf(run, place);
  const reason = failure === null ? {} : { reason: failure.message };
  const pending = outcome === 'ask' ? { pending_id: failure?.details?.['pending_id'] } : {};
  const payload = { ...said, outcome, ...reason, ...pending };
  run.hooks.later({
    bytes: failure?.message.length ?? 0,
    firings: () => Promise.resolve([{ event: AFTER, namespace: place.namespace, payload }]),
  });
}

function outcomeOf(failure: Failure | null): 'allow' | 'deny' | 'ask' | null {
  if (failure === null) return 'allow';
  if (failure.code === 'APPROVAL_PENDING') return 'ask';
  return failure.code === 'GOVERNANCE_REFUSED' ? 'deny' : null;
}
