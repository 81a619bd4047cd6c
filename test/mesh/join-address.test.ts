import assert from 'node:assert/strict';
import { createPrivateKey, sign } from 'node:crypto';
import { it } from 'node:test';
import { signerOf } from '../../node/identity/key-file.js';
import { askAuthority } from '../../node/mesh/forming/ask-authority.js';
import { hashOf } from '../../node/mesh/forming/invites.js';
import { joinBytes } from '../../node/mesh/forming/join-messages.js';
import { newTlsKey } from '../../node/mesh/forming/x509.js';
import { publicKeyText } from '../../protocol/base/key-text.js';
import { formed, formingHome, invitation, join, openMeshHost } from '../support/mesh-node.js';

it('a request to join with an address that is none is refused, and leaves the invitation', async () => {
  const parts = formingHome();
  await formed(parts);
  const host = await openMeshHost(parts);
  try {
    const token = invitation(parts);
    const guest = formingHome();
    const connection = await askAuthority(token, guest);
    assert.ok(connection.ok);
    const { key, publicKey } = await newTlsKey();
    const facts = {
      invite: hashOf(signerOf(token.secret).publicKey),
      mesh_id: token.meshId,
      peer_id: guest.identity.peerId,
      public_key: publicKeyText(guest.identity.key.publicKey),
      tls_public_key: publicKey,
      url: 'https://127.0.0.1:353\u1acf0',
    };
    const bytes = joinBytes(facts);
    const answer = await connection.value.ask({
      facts,
      proof: Buffer.from(guest.identity.key.sign(bytes)).toString('base64'),
      tls_proof: sign('sha256', bytes, createPrivateKey(key)).toString('base64'),
    });
    await connection.value.close();
    assert.ok(answer.ok);
    assert.deepEqual(
      [answer.value.status, (answer.value.body as { code: string }).code],
      [400, 'VALIDATION_FAILED'],
    );
    assert.equal((await join(formingHome(), token)).ok, true);
  } finally {
    await host.close();
  }
});
