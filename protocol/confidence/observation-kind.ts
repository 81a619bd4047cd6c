import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import { localKind } from '../kinds/local-kind.js';

/** How sure a recalled memory was said to be, and how sure its signals make it, at that moment. It changes nothing. */
export interface ConfidenceObservation {
  readonly seq: number;
  readonly memory_id: MemoryId;
  /** Who recalled it. */
  readonly agent_id: AgentId;
  readonly observed_at: Instant;
  /** The confidence that is stored. */
  readonly stated: number;
  readonly derived: number;
}

/** Which of them shows follows from their memories, so no find shows them to an agent. */
export const confidenceObservationKind = localKind<ConfidenceObservation>({
  ...{ name: 'confidence-observation', table: 'confidence_shadow_observations' },
  ...{ key: ['seq'], numbered: true },
  members: {
    seq: 'integer',
    memory_id: 'text',
    agent_id: 'text',
    observed_at: 'text',
    stated: 'number',
    derived: 'number',
  },
  indexes: [['observed_at']],
});
