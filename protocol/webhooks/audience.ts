import type { AgentId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { isVisible } from '../memory/access.js';
import type { Memory } from '../memory/memory.js';
import type { PendingAction } from '../policies/pending-kind.js';
import { mayKnow } from '../policies/pending-kind.js';

/** What decides who sees a memory, as it was when the event happened. */
type Sight = Pick<Memory, 'namespace' | 'metadata'>;

/** Who may know of an event. It is plain data, so that it is judged for each subscription long after the write. */
export interface Audience {
  /** Who knows of it sees all of these. */
  readonly sees: readonly Sight[];
  /** Who knows of it does not see this one. */
  readonly sightless: Sight | null;
  /** Who knows of it may know of this action. */
  readonly action: Pick<PendingAction, 'requested_by' | 'approver'> | null;
  /** Whether who knows of it is one of those that see the memory of the action, or none of them: it is always one of two. */
  readonly about: { readonly target: Sight | null; readonly isShown: boolean } | null;
}

/** What of a memory decides who sees it. */
export function sightOf({ namespace, metadata }: Sight): Sight {
  const { scope, agent_id, target_agent_id, recipient_agent_id } = metadata;
  return { namespace, metadata: { scope, agent_id, target_agent_id, recipient_agent_id } };
}

/** Those who see all of these memories. */
export const whoSees = (...memories: readonly Sight[]): Audience => ({
  sees: memories.map(sightOf),
  sightless: null,
  action: null,
  about: null,
});

/** Whether a viewer may know. `isRegistered` says whether it is a registered agent, which events of approvals ask. */
export function belongs(
  { sees, sightless, action, about }: Audience,
  viewer: Viewer,
  isRegistered: (agentId: AgentId | null) => boolean,
): boolean {
  return (
    sees.every((memory) => isVisible(memory, viewer)) &&
    (sightless === null || !isVisible(sightless, viewer)) &&
    (action === null || mayKnow(action, viewer, isRegistered(viewer.agentId))) &&
    (about === null || about.isShown === seesTarget(about.target, action?.requested_by ?? null, viewer))
  );
}

const seesTarget = (target: Sight | null, requester: AgentId | null, viewer: Viewer): boolean =>
  viewer.all || viewer.agentId === requester || (target !== null && isVisible(target, viewer));
