import type { AgentQueries } from './agents/queries.js';
import type { GraphQueries } from './graph/queries.js';
import type { LifecycleQueries } from './lifecycle/queries.js';
import type { MaintenanceQueries } from './maintenance/queries.js';
import type { MemoryQueries } from './memory/queries.js';
import type { MessageQueries } from './messages/queries.js';
import type { NamesQueries } from './namespaces/queries.js';
import type { GovernanceQueries } from './policies/queries.js';
import type { ReplicationQueries } from './replication/queries.js';
import type { RepairQueries } from './replication/repair-queries.js';
import type { TransferQueries } from './transfer/queries.js';
import type { WebhookQueries } from './webhooks/queries.js';

/**
 * Every query that a store answers without a change, as plain data, grouped by features. Every query that returns
 * memories applies the visibility gate itself; `now` hides expired rows.
 */
export interface Queries
  extends MemoryQueries,
    LifecycleQueries,
    AgentQueries,
    GraphQueries,
    NamesQueries,
    GovernanceQueries,
    MessageQueries,
    WebhookQueries,
    TransferQueries,
    MaintenanceQueries,
    ReplicationQueries,
    RepairQueries {}

export type Query = Queries[keyof Queries]['request'];

/** The answer of each query when it succeeds. */
export type Answers = { readonly [K in keyof Queries]: Queries[K]['answer'] };

export type AnswerOf<Q extends Query> = Answers[Q['kind']];
