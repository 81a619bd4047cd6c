import { REFLECT_DEPTH_MAX } from '../../protocol/curation/limits.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import type { Duty } from './duty.js';

const LOOK_MS = 10_000;

/** Queues a cycle of the curator in each interval, however often the process begins; none while one waits or runs. */
export const curatorCycles: Duty = {
  ...{ name: 'curator', every: LOOK_MS, first: 5000, needs: ['clock'] },
  run:
    ({ store, settings, clock }) =>
    async () => {
      if (!settings.curatorEnabled) return null;
      const { curatorIntervalSeconds, curatorReflects, curatorOps, curatorInclude, curatorExclude } =
        settings;
      const slot = Math.floor(clock.nowMs() / 1000 / curatorIntervalSeconds);
      const modes: readonly JobInput<'curator'>['mode'][] = curatorReflects
        ? ['curate', 'reflect']
        : ['curate'];
      for (const mode of modes) {
        const input = {
          ...{ mode, max_ops: curatorOps, max_depth: REFLECT_DEPTH_MAX },
          ...{ include: [...curatorInclude], exclude: [...curatorExclude] },
        };
        const name = `${mode}-${curatorIntervalSeconds}-${slot}`;
        await store.execute({ kind: 'queue-cycle', name, input, always: false }, { lane: 'background' });
      }
      return null;
    },
};
