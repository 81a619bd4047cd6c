import { createHttpSurface } from '../../node/http/server.js';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { type FormingParts, initMesh, joinMesh } from '../../node/mesh/forming/form.js';
import { Invites } from '../../node/mesh/forming/invites.js';
import type { JoinToken } from '../../node/mesh/forming/join-token.js';
import { MeshFolder } from '../../node/mesh/forming/mesh-folder.js';
import { MeshHost } from '../../node/mesh/mesh-host.js';
import { MeshPeers } from '../../node/mesh/mesh-peers.js';
import { Metrics } from '../../node/observability/metrics.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import type { Clock } from '../../protocol/base/seams.js';
import { freePort, temporaryFolder } from './daemon-process.js';
import { keptLog } from './mesh.js';
import { openTestNode } from './test-node.js';

/** A home in which meshes are formed. */
export function formingHome(clock: Clock = systemClock): FormingParts & { readonly home: string } {
  const home = temporaryFolder('mesh');
  return {
    home,
    folder: new MeshFolder(home),
    identity: loadMachineIdentity(`${home}/keys`, systemRandom),
    clock,
    scheduler: systemScheduler,
    random: systemRandom,
  };
}

/** Makes a mesh, or fails the test. */
export async function formed(parts: FormingParts) {
  // Without an address it would be the first free port, which another process of tests finds free too.
  const url = `https://127.0.0.1:${await freePort()}`;
  const made = await initMesh(parts, { url, listen: undefined });
  if (!made.ok) throw new Error(made.error.message);
  return made.value;
}

/** An invitation of the node that made a mesh. */
export function invitation(
  parts: FormingParts,
  ttlSeconds = 600,
  namespaces: readonly string[] | null = null,
): JoinToken {
  const facts = parts.folder.facts()!;
  const { secret } = new Invites(parts.folder, parts).create(ttlSeconds, namespaces);
  return { url: facts.url!, meshId: facts.mesh_id, secret };
}

/** Joins, with the place left to the node. */
export const join = (parts: FormingParts, token: JoinToken) =>
  joinMesh(parts, token, { url: undefined, listen: undefined });

/** The mesh side of a daemon over a store in memory. */
export async function openMeshHost(parts: FormingParts & { readonly home: string }) {
  const node = await openTestNode({ home: parts.home });
  const log = keptLog();
  const own = {
    peerId: parts.identity.peerId,
    clock: parts.clock,
    scheduler: systemScheduler,
    random: systemRandom,
    crypto: systemCrypto,
    log,
  };
  const peers = new MeshPeers({ ...own, settings: node.services.settings });
  const host = new MeshHost({ ...own, signer: node.services.machineKey!, store: node.services.store, peers });
  await host.start((tls, peerRoutes) =>
    createHttpSurface({
      services: node.services,
      operations: [],
      metrics: new Metrics(),
      peerRoutes,
      peersOnly: true,
      tls,
    }),
  );
  return {
    host,
    log,
    services: node.services,
    close: async () => {
      await host.close();
      await node.close();
    },
  };
}
