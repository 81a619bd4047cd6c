import type { MemoryRow } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';

/**
 * Hands the memories of some recalls, as they are stored, to those that compare what they are said to be with what their
 * signals say (`SVC_CONFIDENCE_SHADOW`). The answer does not depend on it.
 */
export function observeRecall(call: ReadCall, memories: readonly MemoryRow[]): void {
  const { settings, random, touches } = call.services;
  if (!settings.confidenceShadow || memories.length === 0) return;
  if (random.unit() >= settings.confidenceShadowSampleRate) return;
  touches.observeConfidence({
    agentId: call.caller.agentId,
    observedAt: call.now,
    memories: memories.map((memory) => ({
      ...{ id: memory.id, namespace: memory.namespace, stated: memory.confidence },
      ...{ writtenAt: memory.updated_at, isAtom: memory.atom_of !== null },
      corroborations: memory.citations.length,
    })),
  });
}
