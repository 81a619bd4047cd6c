import assert from 'node:assert/strict';
import { MeshFolder } from '../../../node/mesh/forming/mesh-folder.js';
import { RosterFile } from '../../../node/mesh/forming/roster-file.js';
import { systemClock, systemRandom, systemScheduler } from '../../../node/seams.js';
import { fail, ok } from '../../../protocol/base/result.js';
import { ProcessMesh } from '../../mesh/processes/process-mesh.js';
import type { ProcessNode } from '../../mesh/processes/process-node.js';
import { expectedMeshOf, homesOf, unpackHome } from './format-folders.js';

/** Unpacks the homes of a kept mesh into the nodes of a new one; none of them runs. */
export async function unpackedMesh(format: string): Promise<ProcessMesh> {
  const mesh = new ProcessMesh();
  const { peer_ids } = expectedMeshOf(format);
  for (const [index, kept] of homesOf(format).entries()) {
    const node = await mesh.make();
    unpackHome(kept, node.home);
    node.peerId = peer_ids[index]!;
  }
  return mesh;
}

/**
 * Starts the nodes of a kept mesh at their new places. The node that made the mesh gets another certificate by the
 * product's command, the others by joining again: so the homes can be used until the authority's own certificate
 * expires, twenty years after they were kept.
 */
export async function startMoved({ nodes }: ProcessMesh, join: (node: ProcessNode) => Promise<void>) {
  const [first, ...others] = nodes as [ProcessNode, ...ProcessNode[]];
  await moveAuthority(first);
  await first.must(['mesh', 'renew']);
  await first.start();
  for (const node of others) await join(node);
  for (const node of others) await node.start();
}

/**
 * Says for the node that made a mesh that it is somewhere else now, as the mesh's authority; no command of the product
 * moves that node.
 */
async function moveAuthority(node: ProcessNode): Promise<void> {
  const folder = new MeshFolder(node.home);
  const [authority, facts] = [folder.authority(), folder.facts()];
  assert.ok(
    authority !== null && facts !== null,
    'the first home is not that of the node that made the mesh',
  );
  const url = `https://127.0.0.1:${node.proxy.port}`;
  const seams = { clock: systemClock, scheduler: systemScheduler, random: systemRandom };
  const stated = await new RosterFile(folder, seams).state(authority, (known) => {
    const own = known.get(node.peerId)?.statement;
    return own === undefined ? fail('NOT_FOUND', 'the node is not in its roster') : ok({ ...own, url });
  });
  assert.ok(stated.ok, JSON.stringify(stated));
  const listen = { host: '127.0.0.1', port: node.listenPort };
  folder.write(folder.factsPath, JSON.stringify({ ...facts, url, listen }), systemRandom);
}
