import type { DetailsOf } from '../../protocol/base/error-details.js';
import {
  detailsOf,
  type Failure,
  fail,
  failed,
  failure,
  ok,
  type Result,
} from '../../protocol/base/result.js';
import type { Random } from '../../protocol/base/seams.js';
import type { PendingAction } from '../../protocol/policies/pending-kind.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import { COMMANDS } from '../../protocol/release.js';
import { PassingStore } from '../../storage/passing-store.js';
import type { CallOptions, Store } from '../../storage/port.js';
import type { Caller } from '../identity/caller.js';
import type { Services } from './call.js';
import {
  afterGovernance,
  beforeGovernance,
  heardAction,
  isGovernanceHeard,
  outcomeOf,
} from './governance-hooks.js';
import type { HookRun } from './run-hooks.js';

/** A store that puts commands aside that need an approval, and answers such a command with APPROVAL_PENDING. */
export class GovernedStore extends PassingStore {
  /** A long forget is several commands, which hooks let pass as one; a denial in the middle would undo nothing. */
  #mayForget = false;

  constructor(
    store: Store,
    private readonly parts: {
      readonly random: Random;
      readonly caller: Pick<Caller, 'agentId' | 'viewer'>;
      readonly hookRun: HookRun;
      readonly onDecision: Services['onDecision'];
    },
  ) {
    super(store);
  }

  async execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    const word = COMMANDS.actionOf(command);
    if (word === null) return this.store.execute(command, options);
    const { hookRun, onDecision } = this.parts;
    const isHeard = isGovernanceHeard(hookRun);
    const heard = isHeard ? await heardAction(command, this.store) : ok(null);
    if (!heard.ok) return failed(heard.error);
    const action = heard.value;
    const isLaterBatch = this.#mayForget && command.kind === 'forget-memories';
    if (action !== null && !isLaterBatch) {
      const denied = await beforeGovernance(hookRun, action);
      if (denied !== null) return failed(denied);
    }
    this.#mayForget ||= command.kind === 'forget-memories';
    const decided = await this.store.execute(command, options);
    const asked = decided.ok ? null : detailsOf(decided.error, 'APPROVAL_REQUIRED');
    const result = asked === null ? decided : await this.#putAside(command, asked, options);
    const failure = result.ok ? null : result.error;
    const outcome = outcomeOf(failure);
    if (outcome === null || (isLaterBatch && result.ok)) return result;
    onDecision?.(word, outcome);
    if (action !== null) afterGovernance(hookRun, action, outcome, failure);
    return result;
  }

  async #putAside(
    command: Command,
    { memory_id: memoryId, reflection, ...waiting }: DetailsOf<'APPROVAL_REQUIRED'>,
    options: CallOptions | undefined,
  ): Promise<Result<never>> {
    const { agentId, viewer } = this.parts.caller;
    // An approved command runs as the agent, without the bounds of the token.
    if (viewer.within !== undefined) {
      return fail(
        'TOKEN_SCOPE',
        'this needs an approval, and a token for some namespaces cannot wait for one',
      );
    }
    const requestedBy = viewer.agentId ?? agentId;
    const requested = await this.store.execute(
      {
        kind: 'request-approval',
        pendingId: this.parts.random.uuid(),
        command,
        ...waiting,
        memoryId,
        requestedBy,
        writtenAs: agentId === requestedBy ? null : agentId,
      },
      options,
    );
    return failed(requested.ok ? waitsFor(requested.value.pending, reflection) : requested.error);
  }
}

/** Says to the operation that its command waits; the pipeline makes an answer of it. */
function waitsFor(
  { pending_id, action_type, namespace, memory_id }: PendingAction,
  reflection: DetailsOf<'APPROVAL_REQUIRED'>['reflection'],
): Failure {
  const place = action_type === 'store' ? { namespace } : { memory_id, namespace };
  const reason = 'governance requires approval';
  const waiting = { status: 'pending', pending_id, reason, action: action_type, ...place } as const;
  return failure('APPROVAL_PENDING', reason, { ...waiting, ...reflection });
}
