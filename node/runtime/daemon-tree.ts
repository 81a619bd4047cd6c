import type { FailureReport } from '../../actors/core/supervision.js';
import { type Supervisor, startSupervisor, supervisorChild } from '../../actors/core/supervisor.js';
import { BACKGROUND_POLICY } from '../restart-policies.js';
import { systemClock, systemRandom, systemScheduler } from '../seams.js';
import type { DaemonParts } from './daemon-parts.js';
import { gaugesChild } from './gauges.js';

/** Starts the supervision tree of a daemon: storage, then maintenance. From now on the condition shows its children. */
export function startTree(parts: DaemonParts): Supervisor {
  const { storage, condition, duties, approvals, inbox, webhooks, jobs, semantic } = parts;
  const seams = { clock: systemClock, scheduler: systemScheduler, random: systemRandom };
  const tree = startSupervisor({
    ...seams,
    onFailure: (report) => {
      noteFailure(parts, report, 'an actor failed');
      if (report.childId === 'storage' && report.decision.kind === 'escalate') storage.giveUp();
    },
    children: [
      storage.child({
        onStart: (threads) => condition.watchStorage(threads),
        onFailure: (report) => noteFailure(parts, report, 'a storage thread failed'),
      }),
      supervisorChild('maintenance', BACKGROUND_POLICY, {
        ...seams,
        children: [
          ...duties.children(),
          approvals.spec,
          inbox.spec,
          webhooks.spec,
          jobs.spec,
          gaugesChild({ ...parts, embeds: semantic !== null }),
        ],
      }),
    ],
  });
  condition.watch(tree);
  return tree;
}

function noteFailure(
  { metrics, log }: DaemonParts,
  { childId, error, decision }: FailureReport,
  message: string,
): void {
  metrics.actorRestarted(childId);
  log.error({ err: error, actor: childId, decision: decision.kind }, message);
}
