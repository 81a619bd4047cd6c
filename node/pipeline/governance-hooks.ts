import type { Fired } from '../../actors/hooks/chain.js';
import type { Command } from '../../protocol/commands.js';
import { isGated } from '../../protocol/governance/gated-action.js';
import type { HookPayload } from '../../protocol/hooks/decision.js';
import type { HookEvent } from '../../protocol/hooks/events.js';
import { subtreeRoot } from '../../protocol/ids.js';
import type { Instant, MemoryId } from '../../protocol/meanings.js';
import type { ForgetFilter } from '../../protocol/memory/forget-filter.js';
import { sharedNamespace } from '../../protocol/messages/mail.js';
import type { Viewer } from '../../protocol/ranking/types.js';
import { type Failure, failed, ok, type Result } from '../../protocol/result.js';
import type { Store } from '../../storage/port.js';
import { consult, type HookRun, vetoOf } from './run-hooks.js';
import { isNotSeen, seenMemories } from './seen-memories.js';

/** What a policy is asked about, as hooks hear it: once for each namespace. */
export interface GovernedAction {
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

/**
 * What hooks hear of a command that policies gate, with the namespaces that its policy looks at (`gatedAction`); null for
 * other commands, and for one about no memory that is there.
 */
export async function governedAction(
  command: Command,
  store: Pick<Store, 'query' | 'execute'>,
  now: Instant,
): Promise<Result<GovernedAction | null>> {
  if (!isGated(command.kind)) return ok(null);
  const change = (action: string, ids: readonly MemoryId[], viewer: Viewer, more: readonly string[] = []) =>
    changeOf({ action, ids: [...new Set(ids)], more }, { store, viewer, now });
  switch (command.kind) {
    case 'store-memory':
    case 'register-entity':
    case 'send-message':
      return ok(storing(command.memory.namespace, command.memory.id));
    case 'share-memory':
      return ok(storing(sharedNamespace(command.from, command.to), command.copyId));
    case 'update-memory':
      return change('update', [command.id], command.viewer, given(command.patch.namespace));
    case 'undo-edit':
      return command.dryRun
        ? ok(null)
        : undoing(command, store, (more) => change('update', [command.id], command.viewer, more));
    case 'promote-memory':
      return change('promote', [command.id], command.viewer, given(command.vertical?.toNamespace));
    case 'delete-memory':
      return change('delete', [command.id], command.viewer);
    case 'archive-memories':
      return change('archive', command.ids, command.viewer);
    case 'resolve-memories':
      return change('resolve', [command.loserId], command.viewer);
    case 'consolidate-memories': {
      const { ids, result, viewer } = command;
      const sources = await change('consolidate', ids, viewer, [result.namespace]);
      return sources.ok && sources.value !== null ? ok({ ...sources.value, memoryId: result.id }) : sources;
    }
    case 'restore-memory':
      return restoring(command, store);
    case 'forget-memories':
      return ok(forgetting(command.filter));
    default:
      return ok({ action: command.kind, namespaces: [''], memoryId: null, everywhere: true });
  }
}

type Of<K extends Command['kind']> = Extract<Command, { readonly kind: K }>;

const given = (namespace: string | undefined): readonly string[] =>
  namespace === undefined ? [] : [namespace];

const storing = (namespace: string, memoryId: MemoryId): GovernedAction => ({
  ...{ action: 'store', namespaces: [namespace], memoryId },
});

/** An action on memories that are there, and on `more` namespaces. */
async function changeOf(
  {
    action,
    ids,
    more,
  }: { readonly action: string; readonly ids: readonly MemoryId[]; readonly more: readonly string[] },
  looking: Parameters<typeof seenMemories>[0],
): Promise<Result<GovernedAction | null>> {
  const rows = await seenMemories(looking, ids);
  if (!rows.ok) return failed(rows.error);
  const there = rows.value.flatMap((row) => given(row?.namespace));
  if (there.length === 0) return ok(null);
  const namespaces = [...new Set([...there, ...more])];
  return ok({ action, namespaces, memoryId: ids.length === 1 ? ids[0]! : null });
}

/** An undo moves the memory back to where it was. */
async function undoing(
  command: Of<'undo-edit'>,
  store: Pick<Store, 'execute'>,
  change: (more: readonly string[]) => Promise<Result<GovernedAction | null>>,
): Promise<Result<GovernedAction | null>> {
  const undone = await store.execute({ ...command, dryRun: true });
  return undone.ok ? change([undone.value.memory.namespace]) : failed(undone.error);
}

async function restoring(
  { id, viewer }: Of<'restore-memory'>,
  store: Pick<Store, 'query'>,
): Promise<Result<GovernedAction | null>> {
  const found = await store.query({ kind: 'find-archived', id, viewer });
  if (found.ok) return ok({ action: 'restore', namespaces: [found.value.namespace], memoryId: id });
  return isNotSeen(found.error) ? ok(null) : failed(found.error);
}

/** A forget that is not about one namespace may remove memories of every one. */
const forgetting = ({ namespace }: ForgetFilter): GovernedAction => ({
  ...{ action: 'forget', namespaces: [namespace ?? ''], memoryId: null },
  ...(namespace === null || subtreeRoot(namespace) !== null ? { everywhere: true } : {}),
});

const firingsOf = (
  event: HookEvent,
  { action, namespaces, everywhere }: GovernedAction,
  said: HookPayload,
): readonly Fired[] =>
  namespaces.map((namespace) => ({
    ...{ event, namespace, payload: { namespace, action, ...said } },
    ...(everywhere === true ? { everywhere } : {}),
  }));

/** Null when the policy may decide. */
export async function beforeGovernance(run: HookRun, action: GovernedAction): Promise<Failure | null> {
  const { memoryId } = action;
  const said = { agent_id: run.agentId, ...(memoryId === null ? {} : { memory_id: memoryId }) };
  for (const fired of firingsOf(BEFORE, action, said)) {
    const verdict = await consult(run, fired);
    if ('denial' in verdict) return vetoOf(BEFORE, verdict.denial);
  }
  return null;
}

/** Tells what the policy decided; a command that failed for another reason was not decided about. */
export function afterGovernance(run: HookRun, action: GovernedAction, failure: Failure | null): void {
  const outcome = outcomeOf(failure);
  if (outcome === null || !run.hooks.has(AFTER)) return;
  const reason = failure === null ? {} : { reason: failure.message };
  const pending = outcome === 'ask' ? { pending_id: failure?.details?.['pending_id'] } : {};
  const firings = firingsOf(AFTER, action, { agent_id: run.agentId, outcome, ...reason, ...pending });
  run.hooks.later({ bytes: failure?.message.length ?? 0, firings: () => Promise.resolve(firings) });
}

function outcomeOf(failure: Failure | null): 'allow' | 'deny' | 'ask' | null {
  if (failure === null) return 'allow';
  if (failure.code === 'APPROVAL_PENDING') return 'ask';
  return failure.code === 'GOVERNANCE_REFUSED' ? 'deny' : null;
}
