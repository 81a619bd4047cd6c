import type { ReadCall } from '../../pipeline/call.js';

/** The live counters of the capabilities envelope (interface §4.14). */
export interface RuntimeCounters {
  readonly active_rule_count: number;
  readonly pending_requests: number;
  /** Vectors that the index dropped for lack of room: it never does. */
  readonly hnsw_evictions: number;
  readonly dlq_depth: number;
  /** Hooks and webhook subscriptions that are registered. */
  readonly registered_hooks: number;
}

/** Counts what exists. Rules, pending actions and hooks come with later parts of the service; until then they are 0. */
export function runtimeCounters({ services }: ReadCall): Promise<RuntimeCounters> {
  return Promise.resolve({
    active_rule_count: 0,
    pending_requests: 0,
    hnsw_evictions: 0,
    dlq_depth: services.condition().federation?.dlq_depth ?? 0,
    registered_hooks: 0,
  });
}
