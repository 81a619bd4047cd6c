import { OBSERVATIONS_MAX } from '../base/ledger-limits.js';
import { addRow, dropRows, localRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { recallKind } from './recall-kind.js';
import type { RecallObservation } from './recall-ledger.js';

/** Recalls as rows of the ledger, and what leaves it for them. The same call, made again, has the same id. */
export function* recordedRecalls(observations: readonly RecallObservation[]): Reading<Mutation[]> {
  if (observations.length === 0) return [];
  const fresh = new Map(observations.map((each) => [each.recallId, each]));
  const known = yield* localRows(recallKind, {
    where: { recall_id: { in: [...fresh.keys()] } },
    limit: observations.length,
    only: ['recall_id'],
  });
  for (const { recall_id } of known) fresh.delete(recall_id);
  const order = { by: 'seq', descending: true };
  const [newest] = yield* localRows(recallKind, { order, limit: 1, only: ['seq'] });
  const added = [...fresh.values()].map((each) => addRow(recallKind, 'seq', rowOf(each)));
  // Numbers grow with time, so the oldest rows have the lowest.
  const to = (newest?.seq ?? 0) + added.length - OBSERVATIONS_MAX;
  return to > 0 ? [...added, dropRows(recallKind, { seq: { to } })] : added;
}

const UNTRACED = {
  ...{ query: null, namespace: null, words_only: null, answered: null, weak: null, below: null },
  took_ms: null,
} as const;

function rowOf(observation: RecallObservation) {
  const { recallId, agentId, retriever, observedAt, memoryIds, scores, trace } = observation;
  return {
    ...{ recall_id: recallId, agent_id: agentId, retriever, observed_at: observedAt },
    memories: JSON.stringify(memoryIds.map((id, index) => [id, scores[index]])),
    ...{ consumed_at: null, consumed_by_memory_id: null, used: null, uses: null },
    ...(trace === undefined
      ? UNTRACED
      : {
          ...{ query: trace.query, namespace: trace.namespace, words_only: trace.wordsOnly },
          ...{ answered: memoryIds.length, weak: Number(trace.weak), below: trace.below },
          took_ms: trace.tookMs,
        }),
  };
}
