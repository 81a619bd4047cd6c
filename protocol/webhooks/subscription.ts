import type { AgentId, Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { localRow, putRow } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { localKind } from '../kinds/local-kind.js';
import { belongs } from './audience.js';
import { ALL_EVENTS } from './event-types.js';
import type { Announcement } from './webhook-event.js';

/** What decides which events a subscription gets; it never changes. */
export interface Filter {
  readonly id: string;
  /** `*`, or names of events with commas between them. */
  readonly events: string;
  /** Equality, no pattern; null for all namespaces. */
  readonly namespace_filter: string | null;
  /** Equality; null for all agents, and for events without one. */
  readonly agent_filter: string | null;
  /** The owner: events about what it may not see are not sent. */
  readonly created_by: AgentId;
  /** True for a subscription of the operator, which gets the events of all agents. */
  readonly sees_all: boolean;
}

/** A subscription to events (interface §2.7). Local to its node. */
export interface Subscription extends Filter {
  readonly url: string;
  /** SHA-256 of its secret, lower-case hex; null for one that is signed with the secret of the node. */
  readonly secret_hash: string | null;
  readonly created_at: Instant;
  readonly last_dispatched_at: Instant | null;
  /** Events whose delivery has ended, and those of them that failed, with those that were not tried. */
  readonly dispatch_count: number;
  readonly failure_count: number;
  /** Events that failed since the last one that was acknowledged. */
  readonly failures_in_row: number;
  /** A quarantined one gets nothing until its owner sends its events again. */
  readonly status: 'active' | 'quarantined';
  /** Events that wait, dead letters, and events that found no room among them or waited too long. */
  readonly pending_count: number;
  readonly dlq_count: number;
  readonly dropped_count: number;
  /** Events in its history: delivered or failed, and not removed yet. */
  readonly ended_count: number;
  /** Every recorded event up to this place has ended, or has a row of its own: its cursor. */
  readonly passed_seq: number;
  /** Its history begins after this place. */
  readonly since_seq: number;
}

/** What the owner of a subscription may see. */
export const ownerOfSubscription = ({ created_by, sees_all }: Filter): Viewer => ({
  all: sees_all,
  agentId: created_by,
  asNamespace: null,
});

/** True for an event that a subscription gets, unless rules about reads withhold it. */
export function hears(
  filter: Filter,
  { event, audience }: Announcement,
  isRegistered: (agentId: AgentId | null) => boolean,
  withheld?: Viewer['withheld'],
): boolean {
  const { events, namespace_filter: namespace, agent_filter: agent } = filter;
  if (events !== ALL_EVENTS && !events.split(',').includes(event.event)) return false;
  if (namespace !== null && namespace !== event.namespace) return false;
  if (agent !== null && agent !== event.agent_id) return false;
  const owner = ownerOfSubscription(filter);
  return belongs(audience, withheld === undefined ? owner : { ...owner, withheld }, isRegistered);
}

/** True for a caller that may see and remove a subscription. One that sees everything is its operator's only. */
export const isOwn = ({ created_by, sees_all }: Filter, { all, agentId }: Viewer): boolean =>
  all || (!sees_all && agentId !== null && created_by === agentId);

export const subscriptionKind = localKind<Subscription>({
  name: 'subscription',
  table: 'subscriptions',
  key: ['id'],
  members: {
    ...{ id: 'text', url: 'text', events: 'text', secret_hash: 'text?', namespace_filter: 'text?' },
    ...{ agent_filter: 'text?', created_by: 'text', sees_all: 'boolean', created_at: 'text' },
    ...{ last_dispatched_at: 'text?', dispatch_count: 'integer', failure_count: 'integer' },
    ...{ failures_in_row: 'integer', status: 'text', pending_count: 'integer', dlq_count: 'integer' },
    ...{ dropped_count: 'integer', ended_count: 'integer', passed_seq: 'integer', since_seq: 'integer' },
  },
  indexes: [['created_at'], ['created_by'], ['status', 'passed_seq']],
  isVisible: isOwn,
});

/** Counts the changes of the list of subscriptions, for processes that keep it in memory. */
export const subscriptionListKind = localKind<{ readonly singleton: number; readonly revision: number }>({
  name: 'subscription-list',
  table: 'subscription_changes',
  key: ['singleton'],
  members: { singleton: 'integer', revision: 'integer' },
});

export function* subscriptionRevision(): Reading<number> {
  return (yield* localRow(subscriptionListKind, { singleton: 1 }))?.revision ?? 0;
}

/** The mutation that goes with every change of the list, and with each that begins or ends a quarantine. */
export function* listChanged(): Reading<Mutation> {
  return putRow(subscriptionListKind, { singleton: 1, revision: (yield* subscriptionRevision()) + 1 });
}
