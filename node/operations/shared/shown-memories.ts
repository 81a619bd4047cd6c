import { ownerOf } from '../../../protocol/identity/owner.js';
import { type Memory, memoryJson } from '../../../protocol/memory/memory.js';
import { validityMark } from '../../../protocol/memory/validity.js';
import type { ReadCall } from '../../pipeline/call.js';
import { type Decaying, decayedMemories } from './confidence.js';
import { attesterOf, claimsAttestation, isAttested, shownAsClaimed } from './judge.js';

/** What of a call is needed to show memories. */
export interface Showing extends Decaying {
  readonly services: Pick<ReadCall['services'], 'store' | 'settings' | 'peerId' | 'isMember'>;
}

/** Memories as callers see them. Every answer except an export renders memories with this. */
export async function shownMemories(call: Showing, memories: readonly Memory[]) {
  // The schema of an answer describes the members; the rendering of a memory has no type of its own.
  return (await judgedMemories(call, memories)).map(
    (memory) => ({ ...memoryJson(memory), ...validityMark(memory, call.now) }) as never,
  );
}

/** Memories as callers see them, with what is known to say nearly the same as they do. */
export async function flaggedMemories(call: ReadCall, memories: readonly Memory[]) {
  const shown = await shownMemories(call, memories);
  const { viewer } = call.caller;
  const ids = memories.map(({ id }) => id);
  const found = await call.services.store.query({ kind: 'flagged-duplicates', ids, viewer, now: call.now });
  if (!found.ok || found.value.flagged.length === 0) return shown;
  const flagged = new Map(found.value.flagged);
  return shown.map((memory, index) => {
    const near = flagged.get(ids[index]!);
    return near === undefined ? memory : ({ ...(memory as object), near_duplicates: near } as never);
  });
}

/** One memory as callers see it. */
export async function shownMemory(call: Showing, memory: Memory) {
  const [shown] = await shownMemories(call, [memory]);
  return shown!;
}

/** The memories with the attestation that this node gives them, and with the confidence that is left. */
export async function judgedMemories<M extends Memory>(
  call: Showing,
  memories: readonly M[],
): Promise<readonly M[]> {
  return decayedMemories(call, await attestedMemories(call, memories));
}

/** Those whose signer this node does not know are claimed. */
async function attestedMemories<M extends Memory>(
  { services }: Showing,
  memories: readonly M[],
): Promise<readonly M[]> {
  const claiming = memories.filter(claimsAttestation);
  if (claiming.length === 0) return memories;
  const agentIds = [...new Set(claiming.map((memory) => ownerOf(memory) ?? ''))];
  const found = await services.store.query({ kind: 'agent-keys', agentIds });
  const keysOf = new Map(found.ok ? found.value.keys : []);
  const members = new Set<string>();
  for (const attester of new Set(claiming.map(attesterOf))) {
    if (attester === null) continue;
    if (attester === services.peerId || (await services.isMember(attester))) members.add(attester);
  }
  return memories.map((memory) => {
    if (!claimsAttestation(memory)) return memory;
    const keys = keysOf.get(ownerOf(memory) ?? '') ?? null;
    return isAttested(memory, keys, members) ? memory : shownAsClaimed(memory);
  });
}
