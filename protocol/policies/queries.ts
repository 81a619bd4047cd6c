import type { Ask } from '../base/ask.js';
import type { AgentId, Instant, SubjectId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { ReadRegion } from '../namespaces/read-policies.js';
import type { Rule } from '../rules/rule-kind.js';
import type { PendingAction, PendingState } from './pending-kind.js';

/** Questions about governance. */
export interface GovernanceQueries {
  readonly 'list-pendings': Ask<
    ListPendings,
    {
      readonly pending: readonly ShownPending[];
      readonly truncated: boolean;
      /** Where the page ends; null when it is the last one. */
      readonly next: PendingPlace | null;
    }
  >;
  readonly 'undecided-pendings': Ask<UndecidedPendings, { readonly ids: readonly string[] }>;
  readonly 'spent-pendings': Ask<
    SpentPendings,
    { readonly pendings: readonly SubjectId[]; readonly votes: readonly SubjectId[] }
  >;
  readonly 'count-pendings': Ask<CountPendings, { readonly waiting: number }>;
  readonly 'approval-events': Ask<ApprovalEvents, ApprovalEventPage>;
  readonly 'is-registered': Ask<AskRegistered, { readonly registered: boolean }>;
  /** What may limit reads: rules, and parts of the namespaces in which policies do; empty on most nodes. */
  readonly 'rules-for-reads': Ask<
    { readonly kind: 'rules-for-reads' },
    { readonly rules: readonly Rule[]; readonly regions: readonly ReadRegion[] }
  >;
  readonly 'list-policies': Ask<
    ListPolicies,
    { readonly policies: readonly NamespacePolicy[]; readonly count: number }
  >;
}

/** What orders pending actions, of one of them. */
export type PendingPlace = readonly [requestedAt: Instant, id: string];

/**
 * Pending actions, the newest first. A viewer sees those that it requested and those that it may decide (`mayKnow`).
 * Truncated where the actions are too long for one answer.
 */
export interface ListPendings {
  readonly kind: 'list-pendings';
  /** Null for every status. */
  readonly status: PendingState | null;
  readonly namespace: string | null;
  readonly limit: number;
  /** Only actions behind this place. */
  readonly after?: PendingPlace | undefined;
  readonly viewer: Viewer;
  readonly now: Instant;
}

/** A pending action with the votes on it that this node knows. */
export interface ShownPending extends PendingAction {
  readonly votes: number;
  /** What it proposes; null where the viewer may not see all memories that it is about. */
  readonly payload: Readonly<Record<string, unknown>> | null;
}

/** Ids of actions that wait, and have votes that were not counted or were requested before an instant; the oldest first. */
export interface UndecidedPendings {
  readonly kind: 'undecided-pendings';
  readonly requestedBefore: Instant;
  readonly limit: number;
}

/** Records of actions that were decided before an instant and whose home is here, and of votes as old on no action. */
export interface SpentPendings {
  readonly kind: 'spent-pendings';
  readonly before: Instant;
  /** Of each. */
  readonly limit: number;
}

/** How many actions wait that a viewer may know of; all of them with null, as for the metrics. */
export interface CountPendings {
  readonly kind: 'count-pendings';
  readonly viewer: Viewer | null;
}

/** Changes of pending actions after a place in the log, in the order in which this node heard of them. */
export interface ApprovalEvents {
  readonly kind: 'approval-events';
  /** A commit sequence; null asks only for the end of the log. */
  readonly after: number | null;
  readonly limit: number;
}

/** An event of `GET /approvals/stream` (reference-http §3.9), with whom it concerns. */
export interface ApprovalEvent {
  /** The commit sequence of the operation. */
  readonly id: number;
  readonly event: 'approval_requested' | 'approval_decided';
  readonly pending: PendingAction;
}

export interface ApprovalEventPage {
  readonly events: readonly ApprovalEvent[];
  /** The place after which the next page begins. */
  readonly through: number;
  readonly more: boolean;
}

/** Whether an agent is registered, so that it may decide what any agent may. */
export interface AskRegistered {
  readonly kind: 'is-registered';
  readonly agentId: AgentId;
}

/**
 * Policies of namespaces, in the order of these. A caller that does not see everything gets those that it set and those of
 * the named namespaces: the names of others are not for everybody.
 */
export interface ListPolicies {
  readonly kind: 'list-policies';
  readonly named: readonly string[];
  readonly limit: number;
  readonly viewer: Viewer;
}

export interface NamespacePolicy {
  readonly namespace: string;
  readonly governance: Readonly<Record<string, unknown>>;
}
