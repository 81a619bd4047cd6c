import { approvalsRound, dropDecided } from '../../actors/maintenance/approvals.js';
import { expiryRound } from '../../actors/maintenance/expiry.js';
import { nearDuplicatesRound, reviewFromStart } from '../../actors/maintenance/near-duplicates.js';
import { observationsRound } from '../../actors/maintenance/observations.js';
import { ReindexJob } from '../../actors/maintenance/reindex.js';
import { OBSERVATIONS_PRUNE_INTERVAL_MS } from '../../protocol/base/ledger-limits.js';
import {
  GC_INTERVAL_MS,
  NEAR_DUPLICATE_REST,
  NEAR_DUPLICATE_REST_MAX_MS,
  NEAR_DUPLICATE_REST_WRITING,
  NEAR_DUPLICATE_ROUND_MS,
} from '../../protocol/base/limits.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import { auditLog } from './audit-log-duty.js';
import { confidenceObservations } from './confidence-duty.js';
import { COORDINATION_DUTIES } from './coordination-duties.js';
import { curatorCycles } from './curator-duty.js';
import type { Duty } from './duty.js';
import { erasures } from './erasure-duty.js';
import { room } from './room-duty.js';
import { sweepSkillUploads } from './skill-duties.js';
import { sweepOffloads, sweepTranscripts } from './transcript-duties.js';

const DAY_MS = 86_400_000;
const DAY_SECONDS = 86_400;
/** A node is busy with writes until so long after the last one. */
const BUSY_MS = 250;

const backfill: Duty = {
  ...{ name: 'backfill', every: 1000, needs: ['encoder'], wokenBy: ['ownership', 'log'] },
  run:
    ({ semantics }) =>
    async () =>
      (await semantics()?.round()) ?? null,
};

const expiry: Duty = {
  name: 'expiry',
  every: GC_INTERVAL_MS,
  // Memories that expired while the node was down need not wait longer.
  first: 5000,
  needs: ['clock'],
  run:
    ({ store, settings: { archiveOnGc, archiveMaxDays }, clock }) =>
    () => {
      const days = archiveMaxDays ?? null;
      const before = days === null ? null : instantFromMs(clock.nowMs() - days * DAY_MS);
      return expiryRound(store, archiveOnGc, before);
    },
};

const observations: Duty = {
  ...{ name: 'observations', every: OBSERVATIONS_PRUNE_INTERVAL_MS, first: 10_000, needs: [] },
  run:
    ({ store, settings, clock }) =>
    () => {
      const seconds = settings.observationsTtlDays * DAY_SECONDS;
      const before = instantAfter(instantFromMs(clock.nowMs()), -seconds);
      return observationsRound(store, before, settings.recallTrace);
    },
};

const approvals: Duty = {
  ...{ name: 'approvals', every: GC_INTERVAL_MS, needs: [] },
  run: ({ store, clock }) => {
    let begun = false;
    return async () => {
      if (!begun) begun = (await store.execute({ kind: 'end-sessions' }, { lane: 'background' })).ok;
      return approvalsRound(store, clock);
    };
  },
};

/** A clock that is ahead would take decisions of today for old ones. */
const decidedActions: Duty = {
  ...{ name: 'decided-actions', every: GC_INTERVAL_MS, needs: ['clock'] },
  run:
    ({ store, clock }) =>
    async () =>
      (await dropDecided(store, clock)) ? { afterMs: 0 } : null,
};

const reindex: Duty = {
  ...{ name: 'reindex', every: GC_INTERVAL_MS, needs: [], wokenBy: ['ownership'] },
  run: ({ store, log }) => {
    const job = new ReindexJob(store, log);
    return () => job.round();
  },
};

const nearDuplicates: Duty = {
  ...{ name: 'near-duplicates', every: GC_INTERVAL_MS, needs: ['comparison'], wokenBy: ['log'] },
  run: ({ store, clock, sinceChangeMs }) => {
    const place = reviewFromStart();
    let restsUntilMs = Number.NEGATIVE_INFINITY;
    return async () => {
      const beganMs = clock.monotonicMs();
      // Every write wakes the loop; it must leave most of a busy node to the stores, and of the reader to recalls.
      if (beganMs < restsUntilMs) return { afterMs: restsUntilMs - beganMs };
      const now = instantFromMs(clock.nowMs());
      const { afterMs } = await nearDuplicatesRound(store, place, now, NEAR_DUPLICATE_ROUND_MS);
      const nowMs = clock.monotonicMs();
      const rests = sinceChangeMs() < BUSY_MS ? NEAR_DUPLICATE_REST_WRITING : NEAR_DUPLICATE_REST;
      const restMs = Math.min((nowMs - beganMs) * rests, NEAR_DUPLICATE_REST_MAX_MS);
      restsUntilMs = nowMs + restMs;
      return { afterMs: Math.max(afterMs, restMs) };
    };
  },
};

/** Every duty of the owner of a database. Declare a new one in its own file and list it here. */
export const DUTIES: readonly Duty[] = [
  expiry,
  observations,
  confidenceObservations,
  approvals,
  decidedActions,
  reindex,
  backfill,
  nearDuplicates,
  room,
  sweepTranscripts,
  sweepOffloads,
  sweepSkillUploads,
  curatorCycles,
  erasures,
  auditLog,
  ...COORDINATION_DUTIES,
];
