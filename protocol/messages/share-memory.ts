import type { AgentId, MemoryId } from '../base/meanings.js';
import { failed } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { isAgent, isId, isRequester, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { ofRows } from '../decide/proposal.js';
import { tombstoneOf } from '../decide/reads.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { isExpired, isVisible } from '../memory/access.js';
import { ADDRESSEE_KEYS, type Memory, PRESERVED_METADATA_KEYS } from '../memory/memory.js';
import { memoryKind } from '../memory/memory-kind.js';
import { insertMemory } from '../memory/memory-writes.js';
import { memoryById } from '../memory/reads.js';
import { notFound } from '../memory/update.js';
import { SHARED_SOURCE, sharedNamespace } from '../namespaces/mail.js';

/** Copies a memory for another agent. */
export interface ShareMemory {
  readonly kind: 'share-memory';
  readonly id: MemoryId;
  /** The id of the copy; it follows from the memory, its version and the two agents. */
  readonly copyId: MemoryId;
  readonly from: AgentId;
  readonly to: AgentId;
  readonly viewer: Viewer;
}

/** What `share-memory` answers. */
export interface ShareMemoryOutcome {
  readonly id: MemoryId;
  readonly created: boolean;
}

/**
 * Shares a memory that the caller sees. A version that was shared before answers the copy that is there. The copy belongs
 * to the agent that shares it, so its quota pays and nothing is said in the name of the other.
 */
function* decideShareMemory(command: ShareMemory, context: DecisionContext): Deciding<ShareMemoryOutcome> {
  const { id, copyId, viewer } = command;
  const source = yield* memoryById(id);
  if (source === null || isExpired(source, context.now) || !isVisible(source, viewer)) return notFound();
  const there = yield* memoryById(copyId);
  if (there !== null) return decided({ id: copyId, created: false }, []);
  const removed = yield* tombstoneOf({ kind: memoryKind.name, id: copyId });
  const copy = { ...copyOf(source, command, context), seen: removed?.seen ?? {} };
  const charge = yield* chargeFor(copy, null, context);
  if (!charge.ok) return failed(charge.error);
  return decided({ id: copyId, created: true }, [...charge.value, insertMemory(copy)]);
}

/** What of the metadata of a memory is not the copy's. */
const OWN_KEYS: ReadonlySet<string> = new Set([
  ...PRESERVED_METADATA_KEYS,
  ...ADDRESSEE_KEYS,
  'message_kind',
]);

/** The copy is claimed, because a signature covers the namespace and the author. */
function copyOf(source: Memory, { copyId, from, to }: ShareMemory, { now }: DecisionContext): Memory {
  const kept = Object.entries(source.metadata).filter(([key]) => !OWN_KEYS.has(key));
  return {
    ...source,
    id: copyId,
    namespace: sharedNamespace(from, to),
    source: SHARED_SOURCE,
    expires_at: null,
    metadata: {
      ...Object.fromEntries(kept),
      agent_id: from,
      target_agent_id: to,
      scope: 'private',
      attest_level: 'claimed',
      shared_from_memory_id: source.id,
      shared_from_agent_id: from,
      shared_to_agent_id: to,
      shared_at: now,
    },
    // What a memory is part of, or is the only one of, stays with it.
    atomised_into: null,
    atom_of: null,
    entity_id: null,
    persona_version: null,
    mentioned_entity_id: null,
    write_signature: null,
    access_count: 0,
    last_accessed_at: null,
    created_at: now,
    updated_at: now,
    version: 1,
    created_hlc: '',
    edited: '',
  };
}

export const shareMemoryCommand = defineCommand({
  kind: 'share-memory',
  decide: decideShareMemory,
  gate: {
    action: 'store',
    proposes: ({ id, to }) => ofRows([id], { source_memory_id: id, target_agent_id: to }),
  },
  read: shaped<ShareMemory>('share-memory', { id: isId, copyId: isId, from: isRequester, to: isAgent }),
  writes: ['mail', 'reserved'],
  tells: { post_store: ({ outcome }) => [{ memory: outcome.id }] },
});
