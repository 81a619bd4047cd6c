import type { Fired } from '../../actors/hooks/chain.js';
import type { Command } from '../../protocol/commands.js';
import type { ReadRequest } from '../../protocol/decide/reads.js';
import { gatedAction, gatedWord } from '../../protocol/governance/gated-action.js';
import type { HookPayload } from '../../protocol/hooks/decision.js';
import type { HookEvent } from '../../protocol/hooks/events.js';
import { subtreeRoot } from '../../protocol/ids.js';
import type { Instant, MemoryId } from '../../protocol/meanings.js';
import type { ForgetFilter } from '../../protocol/memory/forget-filter.js';
import type { Memory } from '../../protocol/memory/memory.js';
import type { Viewer } from '../../protocol/ranking/types.js';
import { type Failure, failed, ok, type Result } from '../../protocol/result.js';
import type { Store } from '../../storage/port.js';
import { consult, type HookRun, vetoOf } from './run-hooks.js';
import { isNotSeen, seenMemories, seenMemory } from './seen-memories.js';

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
const EVERYTHING: Viewer = { all: true, agentId: null, asNamespace: null };

export const isGovernanceHeard = ({ hooks }: HookRun): boolean => hooks.has(BEFORE) || hooks.has(AFTER);

type HeardStore = Pick<Store, 'query' | 'execute'>;

/**
 * What hooks hear of a command that policies gate: what its policy is asked (`gatedAction`), found out before the command is
 * decided. Null for other commands, and for one about no memory that is there.
 */
export async function heardAction(
  command: Command,
  store: HeardStore,
  now: Instant,
): Promise<Result<HeardAction | null>> {
  if (command.kind === 'forget-memories') return ok(forgetting(command.filter));
  if (command.kind === 'restore-memory') return restoring(command, store);
  const gating = gatedAction(command, now);
  const answers = await answersFor(command, store, now);
  if (!answers.ok) return failed(answers.error);
  let step = gating.next();
  while (!step.done) {
    const answer = await answers.value(step.value);
    if (!answer.ok) return failed(answer.error);
    step = gating.next(answer.value as never);
  }
  if (step.value === null) return ok(null);
  const { action, places, memoryId } = step.value;
  return ok({ action, namespaces: [...new Set(places.map(({ namespace }) => namespace))], memoryId });
}

type Of<K extends Command['kind']> = Extract<Command, { readonly kind: K }>;

/** Answers what a gate reads. The gate itself looks who may see a memory. */
async function answersFor(
  command: Command,
  store: HeardStore,
  now: Instant,
): Promise<Result<(request: ReadRequest) => Promise<Result<unknown>>>> {
  const looking = { store, viewer: EVERYTHING, now };
  const ids =
    command.kind === 'archive-memories' || command.kind === 'consolidate-memories' ? command.ids : [];
  const unique = [...new Set(ids)];
  const rows = await seenMemories(looking, unique);
  if (!rows.ok) return failed(rows.error);
  const known = new Map(unique.map((id, at) => [id, rows.value[at] ?? null]));
  return ok(async (request) => {
    if (request.read === 'memory-by-id') {
      const row = known.get(request.id);
      return row === undefined ? await seenMemory(looking, request.id) : ok(row);
    }
    if (request.read === 'last-edit' && command.kind === 'undo-edit') return await lastEdit(command, store);
    throw new Error(`the gate of ${command.kind} reads ${request.read}, which hooks cannot answer`);
  });
}

/** An undo moves the memory back to where it was. */
async function lastEdit(
  command: Of<'undo-edit'>,
  store: HeardStore,
): Promise<Result<{ readonly before: Pick<Memory, 'namespace'> }>> {
  const undone = await store.execute({ ...command, dryRun: true });
  return undone.ok ? ok({ before: undone.value.memory }) : failed(undone.error);
}

async function restoring(
  command: Of<'restore-memory'>,
  store: HeardStore,
): Promise<Result<HeardAction | null>> {
  const { id, viewer } = command;
  const found = await store.query({ kind: 'find-archived', id, viewer });
  if (!found.ok) return isNotSeen(found.error) ? ok(null) : failed(found.error);
  return ok({ action: gatedWord(command)!, namespaces: [found.value.namespace], memoryId: id });
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
  const pending = outcome === 'ask' ? { pending_id: failure?.details?.['pending_id'] } : {};
  const firings = firingsOf(AFTER, action, { agent_id: run.agentId, outcome, ...reason, ...pending });
  run.hooks.later({ bytes: failure?.message.length ?? 0, firings: () => Promise.resolve(firings) });
}

/** Null for a command that failed for another reason: it was not decided about. */
export function outcomeOf(failure: Failure | null): PolicyOutcome | null {
  if (failure === null) return 'allow';
  if (failure.code === 'APPROVAL_PENDING') return 'ask';
  return failure.code === 'GOVERNANCE_REFUSED' ? 'deny' : null;
}
