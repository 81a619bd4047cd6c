import type { AgentQueries } from './agents/queries.js';
import type { GraphQueries } from './graph/queries.js';
import type { LifecycleQueries } from './lifecycle/queries.js';
import type { MaintenanceQueries } from './maintenance/queries.js';
import type { MemoryQueries } from './memory/queries.js';
import type { ReplicationQueries } from './replication/queries.js';
import type { RepairQueries } from './replication/repair-queries.js';
import type { TransferQueries } from './transfer/queries.js';

/**
 * Everything that can be asked of a store without changing it, as plain data, by features. Every query that returns
 * memories applies the visibility gate itself; `now` hides what has expired.
 */
export interface Queries
  extends MemoryQueries,
    LifecycleQueries,
    AgentQueries,
    GraphQueries,
    TransferQueries,
    MaintenanceQueries,
    ReplicationQueries,
    RepairQueries {}

export type Query = Queries[keyof Queries]['request'];

/** What each query answers when it succeeds. */
export type Answers = { readonly [K in keyof Queries]: Queries[K]['answer'] };

export type AnswerOf<Q extends Query> = Answers[Q['kind']];
