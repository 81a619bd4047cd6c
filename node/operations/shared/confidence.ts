import { halfLifeDays } from '../../../protocol/confidence/half-life.js';
import {
  confidenceSignals,
  decayedConfidence,
  derivedConfidence,
  HALF_LIFE_DAYS,
} from '../../../protocol/memory/confidence.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';

/** What a new memory says of how sure it is. */
type Confidence = Pick<Memory, 'confidence'> &
  Partial<Pick<Memory, 'confidence_source' | 'confidence_signals'>>;

/**
 * The confidence of a new memory: the one that is stated, else 1, or what its signals say where the node derives it
 * (`SVC_AUTO_CONFIDENCE`).
 */
export function confidenceOfNew(
  { services: { settings }, now }: ReadCall,
  stated: number | undefined,
  evidence: { readonly isAtom: boolean; readonly corroborations: number },
): Confidence {
  if (stated !== undefined) return { confidence: stated };
  if (!settings.autoConfidence) return { confidence: 1 };
  // A new text has not aged, so no half-life counts.
  const signals = confidenceSignals({ writtenAt: now, ...evidence }, now, HALF_LIFE_DAYS);
  const confidence = derivedConfidence(signals, HALF_LIFE_DAYS);
  return { confidence, confidence_source: 'auto_derived', confidence_signals: { ...signals } };
}

/** What of a call is needed to let confidences decay. */
export interface Decaying {
  readonly services: Pick<ReadCall['services'], 'store' | 'settings'>;
  readonly now: string;
}

/**
 * The memories with the confidence that is left since their text was written, where confidences decay
 * (`SVC_CONFIDENCE_DECAY`). What is stored stays.
 */
export async function decayedMemories<M extends Memory>(
  { services: { store, settings }, now }: Decaying,
  memories: readonly M[],
): Promise<readonly M[]> {
  if (!settings.confidenceDecay || memories.length === 0) return memories;
  const namespaces = [...new Set(memories.map(({ namespace }) => namespace))];
  const found = await store.query({ kind: 'governance-at', namespaces });
  const days = new Map(
    // Where no policy can be read, the default holds.
    namespaces.map((name, at) => [
      name,
      found.ok ? halfLifeDays(found.value.governance[at]!) : HALF_LIFE_DAYS,
    ]),
  );
  return memories.map((memory) => {
    const { confidence, updated_at: writtenAt, namespace } = memory;
    const left = decayedConfidence({ confidence, writtenAt }, now, days.get(namespace)!);
    if (left === confidence) return memory;
    return { ...memory, confidence: left, confidence_source: 'decayed', confidence_decayed_at: now };
  });
}
