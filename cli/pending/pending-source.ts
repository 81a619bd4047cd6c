import type { Result } from '../../protocol/base/result.js';

/** An action that waits, as `memory_pending_list` shows it. */
export interface WaitingAction {
  readonly id: string;
  readonly action_type: string;
  readonly namespace: string;
  readonly requested_by: string | null;
  readonly requested_at: string;
  readonly payload: Readonly<Record<string, unknown>> | null;
}

/** A change of a pending action, with the fields of the stream of approvals; `lagged` when changes are missing. */
export type PendingChange = Readonly<Record<string, unknown>>;

/** Where pending actions come from, and decisions go to. */
export interface PendingSource {
  /** Who decides, for people; null where no agent is named. */
  readonly decides: string | null;
  waiting(): Promise<Result<readonly WaitingAction[]>>;
  /** Decides one action; the answer of the node. */
  decide(id: string, how: 'approve' | 'reject'): Promise<Result<Readonly<Record<string, unknown>>>>;
  /**
   * Calls back with each change until `stop`, and once when no later change can be missed. Resolves with a failure that
   * ends it before.
   */
  follow(onChange: (change: PendingChange) => void, onOpen: () => void): Promise<Result<null>>;
  stop(): void;
}

/** Actions that are shown at most. */
export const SHOWN_MAX = 1000;
