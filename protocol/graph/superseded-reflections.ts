import { REFLECTION_DEPENDENTS_TOLD_MAX } from '../base/limits.js';
import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import { instantAfter } from '../base/time.js';
import type { Viewer } from '../base/viewer.js';
import type { Reading } from '../decide/reads.js';
import { ownerOf } from '../identity/owner.js';
import type { Link, LinkKey } from '../links/link.js';
import { isExpired, isVisible } from '../memory/access.js';
import type { Memory } from '../memory/memory.js';
import { newMemory } from '../memory/new-memory.js';
import { memoryRead } from '../memory/reads.js';
import { isNameless } from '../memory/update.js';
import { addressProblem, inboxOf, MESSAGE_SOURCE, MESSAGE_TAG } from '../namespaces/mail.js';
import { sourcesOf } from './reads.js';

/** An agent whose memories reflect on a reflection that another one supersedes. */
export interface Dependent {
  readonly owner: AgentId;
  readonly memories: readonly MemoryId[];
}

interface Ends {
  readonly source: Pick<Memory, 'kind' | 'namespace' | 'metadata'> | null;
  readonly target: Pick<Memory, 'kind' | 'namespace' | 'metadata'> | null;
}

/**
 * Whom a new link tells: the owners of memories that reflect on the reflection which it supersedes. Not those of memories
 * that the caller does not see, because the message would show that they are there, and not owners who do not see both
 * reflections. Any other link informs no one.
 */
export function* dependentsOf(
  { relation, source_id, target_id }: LinkKey,
  { source, target }: Ends,
  viewer: Viewer,
  now: Instant,
): Reading<readonly Dependent[]> {
  if (relation !== 'supersedes' || source?.kind !== 'reflection' || target?.kind !== 'reflection') return [];
  const asked = {
    targetId: target_id,
    relation: 'reflects_on',
    limit: REFLECTION_DEPENDENTS_TOLD_MAX,
  } as const;
  const ids = yield* sourcesOf(asked);
  const found = new Map<AgentId, MemoryId[]>();
  for (const id of ids) {
    const memory = id === source_id ? null : yield* memoryRead({ id });
    if (memory === null || isExpired(memory, now) || !isVisible(memory, viewer)) continue;
    const owner = ownerOf(memory);
    if (owner === null || isNameless(owner) || addressProblem(inboxOf(owner), owner) !== null) continue;
    const reader: Viewer = { all: false, agentId: owner, asNamespace: null };
    if (!isVisible(source, reader) || !isVisible(target, reader)) continue;
    found.set(owner, [...(found.get(owner) ?? []), id]);
  }
  return [...found].map(([owner, memories]) => ({ owner, memories }));
}

/** How long the message about a superseded reflection is kept. */
const KEPT_SECONDS = 30 * 86_400;

/** The message that tells an agent of the reflection that its memories reflect on; of ids only, which say nothing by themselves. */
export function noticeOf(link: Link, id: MemoryId, { owner, memories }: Dependent, now: Instant): Memory {
  const { source_id: invalidating_id, target_id: invalidated_id } = link;
  return newMemory(now, {
    id,
    namespace: inboxOf(owner),
    title: 'A reflection that your memories reflect on was superseded',
    content: `The reflection ${invalidated_id} was superseded by ${invalidating_id}. These memories of yours reflect on it: ${memories.join(', ')}. Look whether they still hold.`,
    tags: [MESSAGE_TAG],
    source: MESSAGE_SOURCE,
    expires_at: instantAfter(now, KEPT_SECONDS),
    metadata: {
      agent_id: link.observed_by,
      recipient_agent_id: owner,
      message_kind: 'reflection_invalidation',
      scope: 'private',
      attest_level: 'claimed',
      invalidated_id,
      invalidating_id,
      dependent_ids: memories,
    },
  });
}
