import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import { defineCommand, TOUCH_BYTES } from '../decide/command.js';
import { type Deciding, type Done, decided } from '../decide/deciding.js';
import { addRow, dropRows, lastNumberOf, localRows } from '../decide/local-rows.js';
import type { Mutation } from '../decide/mutations.js';
import { linkCount } from '../graph/reads.js';
import { confidenceSignals, derivedConfidence, type Evidence } from '../memory/confidence.js';
import { governanceAt } from '../namespaces/gate-policy.js';
import { halfLifeDays } from './half-life.js';
import { CONFIDENCE_OBSERVATIONS_MAX, CORROBORATIONS_MAX } from './limits.js';
import { confidenceObservationKind } from './observation-kind.js';

/** A memory as a recall answered it. Its links are counted when it is written down. */
export interface ObservedMemory extends Evidence {
  readonly id: MemoryId;
  readonly namespace: string;
  readonly stated: number;
}

/** The memories of one recall. */
export interface ObservedRecall {
  readonly agentId: AgentId;
  readonly observedAt: Instant;
  readonly memories: readonly ObservedMemory[];
}

/** Writes down how sure recalled memories were said to be and how sure their signals make them. */
export interface ObserveConfidence {
  readonly kind: 'observe-confidence';
  readonly recalls: readonly ObservedRecall[];
}

/** Beyond the number that is kept, the oldest rows go. */
function* decideObserveConfidence({ recalls }: ObserveConfidence): Deciding<Done> {
  const halfLives = new Map<string, number>();
  const rows: Mutation[] = [];
  for (const { agentId, observedAt, memories } of recalls) {
    for (const { id, namespace, stated, ...evidence } of memories) {
      const days = halfLives.get(namespace) ?? halfLifeDays(yield* governanceAt(namespace));
      halfLives.set(namespace, days);
      const links = yield* linkCount({ memoryId: id, limit: CORROBORATIONS_MAX });
      const corroborations = evidence.corroborations + links;
      const signals = confidenceSignals({ ...evidence, corroborations }, observedAt, days);
      rows.push(
        addRow(confidenceObservationKind, 'seq', {
          ...{ memory_id: id, agent_id: agentId, observed_at: observedAt, stated },
          derived: derivedConfidence(signals, days),
        }),
      );
    }
  }
  const last = yield* lastNumberOf({ of: confidenceObservationKind.name });
  const to = last + rows.length - CONFIDENCE_OBSERVATIONS_MAX;
  return decided({}, to > 0 ? [...rows, dropRows(confidenceObservationKind, { seq: { to } })] : rows);
}

/** Removes the oldest rows, as far as they were observed before an instant. */
export interface PruneConfidence {
  readonly kind: 'prune-confidence';
  readonly before: Instant;
  readonly limit: number;
}

/** `more`: older rows may remain. */
function* decidePruneConfidence({ before, limit }: PruneConfidence): Deciding<{ readonly more: boolean }> {
  const where = { observed_at: { before } };
  const order = { by: 'observed_at' };
  const old = yield* localRows(confidenceObservationKind, { where, order, limit, only: ['seq'] });
  if (old.length === 0) return decided({ more: false }, []);
  const seqs = old.map(({ seq }) => seq);
  return decided({ more: old.length === limit }, [
    dropRows(confidenceObservationKind, { seq: { in: seqs } }),
  ]);
}

export const observeConfidenceCommand = defineCommand({
  kind: 'observe-confidence',
  decide: decideObserveConfidence,
  gate: 'no memory',
  bytes: ({ recalls }) =>
    2 * TOUCH_BYTES * recalls.reduce((sum, { memories }) => sum + 1 + memories.length, 0),
});

export const pruneConfidenceCommand = defineCommand({
  kind: 'prune-confidence',
  decide: decidePruneConfidence,
  gate: 'upkeep',
});
