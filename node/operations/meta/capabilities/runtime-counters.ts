import type { Rule } from '../../../../protocol/rules/rule-kind.js';
import { rulingViewer } from '../../../identity/caller.js';
import type { ReadCall } from '../../../pipeline/call.js';
import { isInForce, rulesOf } from '../../power/memory-rule-list.js';
import { ruleSummary } from './rule-summary.js';

/** The live counters of the capabilities envelope (interface §4.14). */
export interface RuntimeCounters {
  readonly active_rule_count: number;
  readonly pending_requests: number;
  /** Vectors that the index dropped for lack of room: it never does. */
  readonly hnsw_evictions: number;
  /** Operations owed to peers after a failure, and deliveries to the caller's subscriptions that were given up. */
  readonly dlq_depth: number;
  /** Programs in `hooks.toml`, and subscriptions to events that the caller may see. */
  readonly registered_hooks: number;
  /** One line for each policy that the caller may know of, and for each rule in force. */
  readonly rule_summary: readonly string[];
}

/** Counts what exists. */
export async function runtimeCounters(call: ReadCall): Promise<RuntimeCounters> {
  const { services } = call;
  const rules = await activeRules(call);
  return {
    active_rule_count: rules.length,
    rule_summary: await ruleSummary(call, rules),
    pending_requests: await waitingActions(call),
    hnsw_evictions: 0,
    dlq_depth: (services.condition().federation?.dlq_depth ?? 0) + (await deadLetters(call)),
    registered_hooks: services.hooks.report().length + (await subscriptions(call)),
  };
}

/** Rules that decide about actions; none while they cannot be read, which "doctor" reports. */
async function activeRules(call: ReadCall): Promise<readonly Rule[]> {
  const found = await rulesOf(call, null);
  if (!found.ok) return [];
  const { rules, trust } = found.value;
  return rules.filter((rule) => isInForce(rule, trust));
}

/** 0 while they cannot be counted. */
async function deadLetters({ services, caller }: ReadCall): Promise<number> {
  const found = await services.store.query({ kind: 'count-dead-letters', viewer: rulingViewer(caller) });
  return found.ok ? found.value.dead : 0;
}

/** 0 while they cannot be counted. */
async function subscriptions({ services, caller }: ReadCall): Promise<number> {
  const found = await services.store.query({ kind: 'list-subscriptions', viewer: rulingViewer(caller) });
  return found.ok ? found.value.subscriptions.length : 0;
}

/** Actions that wait for approval and that the caller may know of; 0 while they cannot be counted. */
async function waitingActions({ services, caller }: ReadCall): Promise<number> {
  const counted = await services.store.query({ kind: 'count-pendings', viewer: rulingViewer(caller) });
  return counted.ok ? counted.value.waiting : 0;
}
