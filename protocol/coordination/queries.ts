import type { Ask } from '../base/ask.js';
import type { AgentId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { Action } from './action-kind.js';
import type { Prerequisite } from './action-rows.js';

/** Queries of coordination, each with its answer. */
export interface CoordinationQueries {
  readonly 'action-waits': Ask<ActionWaits, { readonly waits: readonly Prerequisite[] }>;
  readonly 'action-frontier': Ask<ActionFrontier, Frontier>;
}

/** What stands between an action and its claim, as this node sees it. */
export interface ActionWaits {
  readonly kind: 'action-waits';
  readonly id: string;
  readonly namespace: string;
}

/** The actions of a namespace that may be claimed now: by priority, then the oldest. */
export interface ActionFrontier {
  readonly kind: 'action-frontier';
  readonly namespace: string;
  readonly viewer: Viewer;
  /** Only actions of nobody and of this agent; null for all. */
  readonly agentId: AgentId | null;
  readonly limit: number;
  /** How many actions are shown that cannot begin, because what they wait for has failed. */
  readonly stuckMax: number;
}

export interface Frontier {
  readonly actions: readonly Action[];
  readonly stuck: readonly StuckAction[];
}

export interface StuckAction {
  readonly id: string;
  readonly title: string;
  readonly blocked_by: readonly { readonly id: string; readonly edge_type: string; readonly state: string }[];
}
