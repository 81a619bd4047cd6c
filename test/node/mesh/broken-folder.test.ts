import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, it } from 'node:test';
import { renewOwnCertificate } from '../../../node/mesh/forming/form.js';
import { MeshFolder } from '../../../node/mesh/forming/mesh-folder.js';
import { readNodePair, writeNodePair } from '../../../node/mesh/forming/node-pair.js';
import { RosterFile } from '../../../node/mesh/forming/roster-file.js';
import type { Random } from '../../../protocol/base/seams.js';
import { StartRefusedError } from '../../../protocol/base/start-refused.js';
import { formed, formingHome, openMeshHost } from '../../support/mesh-node.js';

/** Writes the roster, and nothing of a new pair. */
class KilledBeforeThePair extends MeshFolder {
  override write(path: string, text: string, random: Random): void {
    if (path !== this.rosterPath) throw new Error('killed');
    super.write(path, text, random);
  }
}

/** A member that served without its mesh would answer writes as the only node of one. */
describe('a folder "mesh" that is not whole', () => {
  let node: ReturnType<typeof formingHome>;

  beforeEach(async () => {
    node = formingHome();
    await formed(node);
  });

  const refused = (reason: RegExp) =>
    assert.rejects(openMeshHost(node), (error: unknown) => {
      assert.ok(error instanceof StartRefusedError);
      assert.equal(error.refusal, 'CONFIG_INVALID');
      assert.match(error.message, reason);
      return true;
    });

  it('refuses the start with a key of another certificate', async () => {
    const other = formingHome();
    await formed(other);
    copyFileSync(other.folder.nodeKeyPath, node.folder.nodeKeyPath);
    await refused(/is not the key of .* join the mesh again/);
  });

  it('refuses the start without a roster that names the node', async () => {
    rmSync(node.folder.rosterPath);
    await refused(/does not name this node: copy it from another member/);
    writeFileSync(node.folder.rosterPath, '{"statements":');
    await refused(/is damaged: copy it from another member/);
  });

  it('keeps the certificate in force in the roster over renewals that were killed', async () => {
    const inForce = node.folder.nodeFingerprint();
    const folder = new KilledBeforeThePair(node.home);
    for (let n = 0; n < 3; n += 1) await assert.rejects(renewOwnCertificate({ ...node, folder }), /killed/);
    const own = () =>
      new RosterFile(node.folder, node).read().get(node.identity.peerId)!.statement.fingerprints;
    assert.ok(own().includes(inForce));
    const renewed = await renewOwnCertificate(node);
    assert.deepEqual(own(), [renewed.ok && renewed.value.fingerprint, inForce]);
  });

  it('starts after a renewal that was killed between its two files, with the new pair', async () => {
    const { nodeKeyPath, nodeCertPath } = node.folder;
    const oldKey = readFileSync(nodeKeyPath);
    assert.equal((await renewOwnCertificate(node)).ok, true);
    const [key, cert] = [readFileSync(nodeKeyPath, 'utf8'), readFileSync(nodeCertPath, 'utf8')];
    // As the files stand when the certificate has been replaced, and the key not yet.
    writeFileSync(`${nodeKeyPath}.next`, key);
    writeFileSync(nodeKeyPath, oldKey);
    assert.deepEqual(readNodePair(node.folder), { ok: true, value: { key, cert } });
    const host = await openMeshHost(node);
    await host.close();
    // The next renewal, killed before its certificate is in place, leaves it in force as well.
    const killed = { ...node.folder, nodeKeyPath, nodeCertPath, write: () => assert.fail('killed') };
    assert.throws(() => writeNodePair(killed as never, { key: 'another', cert }, node.random));
    assert.deepEqual(readNodePair(node.folder), { ok: true, value: { key, cert } });
  });
});
