import type { AgentId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';

/** Who requested an action. */
export interface Requester {
  /** The caller, as which the command runs. */
  readonly requestedBy: AgentId;
  /** The agent that the call named for its writes; null where that is the caller. */
  readonly writtenAs: AgentId | null;
  /** True where this node took the request, so that it has verified the signature in it. */
  readonly isOwn: boolean;
}

/** The caller of a command that was put aside: never the operator. */
export const requesterViewer = (requestedBy: AgentId | null): Viewer => ({
  ...{ all: false, agentId: requestedBy, asNamespace: null },
});
