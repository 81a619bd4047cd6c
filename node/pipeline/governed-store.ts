import type { Command, OutcomeOf } from '../../protocol/commands.js';
import type { Approver } from '../../protocol/governance/effective-policy.js';
import type { PendingAction } from '../../protocol/kinds/pending-kind.js';
import type { AgentId } from '../../protocol/meanings.js';
import type { AnswerOf, Query } from '../../protocol/queries.js';
import { type Failure, failed, ok, type Result } from '../../protocol/result.js';
import type { Random } from '../../protocol/seams.js';
import type { CallOptions, SelfCheckPage, Store } from '../../storage/port.js';
import { afterGovernance, beforeGovernance, governedAction, isGovernanceHeard } from './governance-hooks.js';
import type { HookRun } from './run-hooks.js';

/** A store that puts commands aside that need an approval, and answers such a command with PENDING. */
export class GovernedStore implements Store {
  /** A long forget is several commands, which hooks let pass as one; a denial in the middle would undo nothing. */
  #mayForget = false;

  constructor(
    private readonly store: Store,
    private readonly parts: {
      readonly random: Random;
      readonly requestedBy: AgentId | null;
      readonly hookRun: HookRun;
    },
  ) {}

  async execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    const { hookRun } = this.parts;
    if (!isGovernanceHeard(hookRun)) return this.#governed(command, options);
    const heard = await governedAction(command, this.store, hookRun.now);
    if (!heard.ok) return failed(heard.error);
    const action = heard.value;
    if (action === null) return this.#governed(command, options);
    const isLaterBatch = this.#mayForget && command.kind === 'forget-memories';
    if (!isLaterBatch) {
      const denied = await beforeGovernance(hookRun, action);
      if (denied !== null) return failed(denied);
    }
    this.#mayForget ||= command.kind === 'forget-memories';
    const result = await this.#governed(command, options);
    if (!(isLaterBatch && result.ok)) afterGovernance(hookRun, action, result.ok ? null : result.error);
    return result;
  }

  async #governed<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    const result = await this.store.execute(command, options);
    if (result.ok || result.error.code !== 'APPROVAL_REQUIRED') return result;
    const { details } = result.error;
    const requested = await this.store.execute(
      {
        kind: 'request-approval',
        pendingId: this.parts.random.uuid(),
        command,
        action: String(details?.['action']),
        namespace: String(details?.['namespace']),
        memoryId: details?.['memory_id'] as string | null,
        approver: details?.['approver'] as Approver,
        requestedBy: this.parts.requestedBy,
      },
      options,
    );
    return failed(requested.ok ? waitsFor(requested.value.pending) : requested.error);
  }

  query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>> {
    return this.store.query(query, options);
  }

  selfCheck(cursor: string | null, options?: CallOptions): Promise<Result<SelfCheckPage>> {
    return this.store.selfCheck(cursor, options);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

/** Says to the operation that its command waits; the pipeline makes an answer of it. */
function waitsFor({ pending_id, action_type, namespace, memory_id }: PendingAction): Failure {
  const place = action_type === 'store' ? { namespace } : { memory_id, namespace };
  return {
    code: 'APPROVAL_PENDING',
    message: 'governance requires approval',
    details: {
      status: 'pending',
      pending_id,
      reason: 'governance requires approval',
      action: action_type,
      ...place,
    },
  };
}

/** The answer to a call whose command waits for approval (interface §7, 202); the other failures as they are. */
export function pendingAnswer(failure: Failure): Result<Record<string, unknown>> {
  return failure.code === 'APPROVAL_PENDING' ? ok({ ...failure.details }) : failed(failure);
}

/** True for the answer to a call whose command waits for approval. */
export const waitsForApproval = (answer: Readonly<Record<string, unknown>>): boolean =>
  answer['status'] === 'pending' && typeof answer['pending_id'] === 'string';
