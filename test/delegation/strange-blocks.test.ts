import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import { newSeed, signerOf } from '../../node/identity/key-file.js';
import { mintToken, readToken } from '../../node/identity/tokens.js';
import { isWithin } from '../../protocol/base/within.js';
import { narrowed, Pieces } from './tokens-of-a-node.js';

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
/** A field of bytes as protocol buffers write it. */
const field = (number: number, bytes: Uint8Array) => {
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length % 128) + 128, bytes.length >> 7];
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes]);
};

/** A token with a block of any bytes, signed with the key that its holder has. */
function withBlock(token: Pieces, block: Buffer): string {
  const secret = token.inside(4, 1);
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, secret]), format: 'der', type: 'pkcs8' });
  const next = generateKeyPairSync('ed25519');
  const publicKey = next.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const signature = sign(null, Buffer.concat([block, Buffer.alloc(4), publicKey]), key);
  const named = Buffer.concat([Buffer.from([8, 0]), field(2, publicKey)]);
  const signed = Buffer.concat([field(1, block), field(2, named), field(3, signature)]);
  const proof = field(1, next.privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32));
  return token.with([
    ...token.all(2),
    { number: 3, bytes: field(3, signed) },
    { number: 4, bytes: field(4, proof) },
  ]);
}

describe('a block of strange bytes that a holder signed', () => {
  it('is refused, or takes away: it never widens and never fails otherwise', async () => {
    const seed = newSeed();
    const { token } = await mintToken(
      { seed, publicKey: signerOf(seed).publicKey },
      { agentId: 'ai:helper', minter: null, minterKey: null, keyMark: null },
      { operations: ['read'], namespaces: ['team/**'], expiresS: 4_000_000_000 },
    );
    const wide = Pieces.of(token);
    const block = Pieces.of(await narrowed(token, { namespaces: ['team/ops'] })).inside(3, 1);
    const same = await readToken(withBlock(wide, block));
    assert.deepEqual(same.ok && same.value.within, ['team/ops']);
    const codes = new Set<string>();
    for (let at = 0; at < block.length; at += 1) {
      for (const mask of [0x01, 0x55, 0x80]) {
        const changed = Buffer.from(block);
        changed[at]! ^= mask;
        const said = await readToken(withBlock(wide, changed));
        codes.add(said.ok ? 'OK' : said.error.message);
        if (!said.ok) assert.equal(said.error.code, 'TOKEN_INVALID');
        else {
          const { operations, within, expiresS } = said.value;
          assert.deepEqual([operations, expiresS], [['read'], 4_000_000_000]);
          assert.ok(within?.every((pattern) => isWithin(pattern.replace(/\/\*\*$/, ''), ['team/**'])));
        }
      }
    }
    assert.ok(codes.size >= 3, [...codes].join());
  });
});
