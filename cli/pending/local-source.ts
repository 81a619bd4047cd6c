import type { Caller } from '../../node/identity/caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { memoryPendingApprove } from '../../node/operations/governance/memory-pending-approve.js';
import { memoryPendingList } from '../../node/operations/governance/memory-pending-list.js';
import { memoryPendingReject } from '../../node/operations/governance/memory-pending-reject.js';
import type { Answer } from '../../node/pipeline/answer.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Scheduler } from '../../protocol/base/seams.js';
import { type PendingChange, type PendingSource, SHOWN_MAX, type WaitingAction } from './pending-source.js';

/** How often the node of this machine is asked. */
const ASK_MS = 500;

type Listed = WaitingAction & {
  readonly status: string;
  readonly decided_by: string | null;
};

export interface LocalSourceParts {
  readonly runner: LocalRunner;
  /** Who looks: the operator, unless SVC_AGENT_ID binds the process to an agent. */
  readonly viewer: Caller;
  readonly voter: Caller;
  readonly scheduler: Scheduler;
}

const DECISIONS: Readonly<Record<string, string>> = {
  approved: 'approve',
  rejected: 'deny',
  expired: 'expired',
};

/** The pending actions of the node of this machine. It is asked over its socket, where its operator sees everything. */
export class LocalSource implements PendingSource {
  readonly decides: string | null;
  #stopped = false;
  #wake: () => void = () => undefined;

  constructor(private readonly parts: LocalSourceParts) {
    const { voter } = parts;
    this.decides = voter.claimed === 'made' ? null : voter.agentId;
  }

  async waiting(): Promise<Result<readonly WaitingAction[]>> {
    const listed = await this.#list({ status: 'pending' });
    return listed.ok ? ok(listed.value) : failed(listed.error);
  }

  async decide(id: string, how: 'approve' | 'reject'): Promise<Answer> {
    const operation = how === 'approve' ? memoryPendingApprove : memoryPendingReject;
    const answer = await this.#run(operation, this.parts.voter, { id });
    this.#wake();
    return answer;
  }

  async follow(onChange: (change: PendingChange) => void, onOpen: () => void): Promise<Result<null>> {
    let before: ReadonlyMap<string, string> | null = null;
    for (; !this.#stopped; await this.#pause()) {
      const listed: Result<readonly Listed[]> = await this.#list({});
      if (!listed.ok) return failed(listed.error);
      // The newest come first.
      const actions = [...listed.value].reverse();
      const known: ReadonlyMap<string, string> | null = before;
      if (known === null) onOpen();
      else for (const action of actions) tell(action, known.get(action.id), onChange);
      before = new Map(actions.map(({ id, status }) => [id, status]));
    }
    return ok(null);
  }

  stop(): void {
    this.#stopped = true;
    this.#wake();
  }

  async #list(input: Record<string, unknown>): Promise<Result<readonly Listed[]>> {
    const answer = await this.#run(memoryPendingList, this.parts.viewer, { ...input, limit: SHOWN_MAX });
    return answer.ok ? ok(answer.value['pending'] as readonly Listed[]) : failed(answer.error);
  }

  #run(operation: Operation, caller: Caller, input: Record<string, unknown>): Promise<Answer> {
    return this.parts.runner.run(operation, { surface: 'cli', caller, input, unknownFields: 'refuse' });
  }

  #pause(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.parts.scheduler.after(ASK_MS, resolve, { keepAlive: true });
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

function tell(action: Listed, before: string | undefined, onChange: (change: PendingChange) => void): void {
  const { id: pending_id, action_type, namespace, requested_by, requested_at, status, decided_by } = action;
  const requested = { pending_id, action_type, namespace, requested_by, requested_at };
  if (before === undefined) onChange({ event: 'approval_requested', ...requested });
  if (status === 'pending' || status === before) return;
  const decision = DECISIONS[status];
  onChange({ event: 'approval_decided', pending_id, decision, decided_by, namespace, requested_by });
}
