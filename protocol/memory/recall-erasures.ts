import { RECALL_ERASURES_MAX } from '../base/ledger-limits.js';
import type { Instant, MemoryId } from '../base/meanings.js';
import { localRows } from '../decide/local-rows.js';
import type { Reading } from '../decide/reads.js';
import { erasureKind } from './erasure-kind.js';
import { lookedAt, type RecallConsumption, type RecallObservation } from './recall-ledger.js';

/** What was erased, as far as a recall may tell of it. */
export interface ErasedHere {
  readonly ids: ReadonlySet<MemoryId>;
  readonly namespaces: readonly string[];
}

/** True for a recall whose query may be about what was erased: its words are erased too, so they cannot be compared. */
export const mayTellOf = (place: string | null, { namespaces }: ErasedHere): boolean =>
  namespaces.some((namespace) => lookedAt(place, namespace));

interface Recalls {
  readonly observations: readonly RecallObservation[];
  readonly consumptions: readonly RecallConsumption[];
}

/** Recalls that waited to be written, without what was erased meanwhile. */
export function* withoutErased({ observations, consumptions }: Recalls): Reading<Recalls> {
  const instants = [
    ...observations.map(({ observedAt }) => observedAt),
    ...consumptions.map(({ consumedAt }) => consumedAt),
  ];
  if (instants.length === 0) return { observations, consumptions };
  const since = instants.toSorted()[0]!;
  const rows = yield* localRows(erasureKind, {
    where: { erased_at: { from: since } },
    order: { by: 'erased_at' },
    limit: RECALL_ERASURES_MAX,
    only: ['memory_id', 'namespace', 'erased_at'],
  });
  if (rows.length === 0) return { observations, consumptions };
  if (rows.length === RECALL_ERASURES_MAX) return { observations: [], consumptions: [] };
  const laterThan = (at: Instant): ErasedHere => {
    const later = rows.filter(({ erased_at }) => erased_at >= at);
    return {
      ids: new Set(later.map(({ memory_id }) => memory_id)),
      namespaces: [...new Set(later.map(({ namespace }) => namespace))],
    };
  };
  return {
    observations: observations.map((each) => cleared(each, laterThan(each.observedAt))),
    consumptions: consumptions.filter(({ memoryId, consumedAt }) => !laterThan(consumedAt).ids.has(memoryId)),
  };
}

function cleared(observation: RecallObservation, erased: ErasedHere): RecallObservation {
  const { trace, memoryIds } = observation;
  const left = memoryIds.map((id) => (erased.ids.has(id) ? '' : id));
  if (trace === undefined) return { ...observation, memoryIds: left };
  const query = mayTellOf(trace.namespace, erased) ? null : trace.query;
  return { ...observation, memoryIds: left, trace: { ...trace, query } };
}
