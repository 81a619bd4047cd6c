import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { localRows } from '../decide/local-rows.js';
import { enqueued } from '../jobs/enqueue.js';
import { jobKind } from '../jobs/job-kind.js';
import type { JobInput } from '../jobs/job-types.js';
import { CURATOR } from './curator.js';

/** Queues a cycle of the curator as a job. */
export interface QueueCycle {
  readonly kind: 'queue-cycle';
  /** Names the cycle: the same one is queued once. */
  readonly name: string;
  readonly input: JobInput<'curator'>;
  /** False for a cycle that is left out where one waits or runs. */
  readonly always: boolean;
}

export interface QueueCycleOutcome {
  readonly id: string;
  readonly queued: boolean;
}

function* decideQueueCycle(
  { name, input, always }: QueueCycle,
  { now }: DecisionContext,
): Deciding<QueueCycleOutcome> {
  if (!always) {
    for (const state of ['running', 'queued', 'paused'] as const) {
      const where = { type: 'curator', state };
      const [other] = yield* localRows(jobKind, { where, limit: 1, only: ['id'] });
      if (other !== undefined) return decided({ id: other.id, queued: false }, []);
    }
  }
  const order = { type: 'curator', name, input, caller: CURATOR, local: true } as const;
  const mutations = yield* enqueued(order, now);
  return decided({ id: `curator:${name}`, queued: mutations.length > 0 }, mutations);
}

export const queueCycleCommand = defineCommand({
  kind: 'queue-cycle',
  decide: decideQueueCycle,
  gate: 'upkeep',
});
