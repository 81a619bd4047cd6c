import { MESH_POLL_MS } from '../../protocol/base/limits.js';
import type { Scheduler } from '../../protocol/base/seams.js';
import type { MeshState } from './forming/mesh-state.js';
import { WatchedFiles } from './tls/watched-files.js';

/** Reads the folder of the mesh again when it changes, and says so. */
export function followFolder(state: MeshState, scheduler: Scheduler, changed?: () => void): WatchedFiles {
  const { folder } = state;
  return new WatchedFiles({
    paths: () => [
      folder.factsPath,
      folder.rosterPath,
      folder.nodeCertPath,
      folder.nodeKeyPath,
      folder.authorityCertPath,
      folder.authorityKeyPath,
    ],
    scheduler,
    intervalMs: MESH_POLL_MS,
    changed: () => {
      state.reload();
      changed?.();
    },
  });
}
