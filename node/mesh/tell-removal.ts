import type { Log } from '../../protocol/base/seams.js';
import type { MeshState } from './forming/mesh-state.js';

/** A look that says once that this node was removed from its mesh. */
export function removalTeller(state: MeshState, peerId: string, log: Log): () => void {
  let wasRemoved = false;
  return () => {
    const isRemoved = state.formed?.statements.get(peerId)?.statement.state === 'departed';
    if (isRemoved && !wasRemoved)
      log.warn(
        { code: 'MESH_REMOVED' },
        'this node was removed from its mesh: its writes stay on this node; to come back, join with a new invitation',
      );
    wasRemoved = isRemoved;
  };
}
