import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { signerOf } from '../../../node/identity/key-file.js';
import { systemCrypto } from '../../../node/seams.js';
import { publicKeyProblem } from '../../../protocol/identity/ed25519-admission.js';
import { type KeyVector, type SignatureVector, signatureFixtures } from '../../support/signature-fixtures.js';

const fixture = (name: string) => readFileSync(`fixtures/${name}`, 'utf8');
const { keys, signatures } = JSON.parse(fixture('ed25519.json')) as {
  keys: KeyVector[];
  signatures: SignatureVector[];
};
const bytes = (hex: string) => Buffer.from(hex, 'hex');

// What a node answers to the writes of attestation.json: test/node/pipeline/attestation-vectors.test.ts.
describe('the signature fixtures', () => {
  it('are what their script makes', () => {
    for (const [name, text] of Object.entries(signatureFixtures())) assert.equal(fixture(name), text, name);
  });

  for (const { name, public_key, admitted, problem } of keys) {
    it(`key: ${name} is ${admitted ? 'admitted' : 'refused'}`, () => {
      const said = publicKeyProblem(bytes(public_key));
      if (problem === undefined) assert.equal(said, null);
      else assert.ok(said?.includes(problem), String(said));
    });
  }

  for (const { name, seed, public_key, message, signature, valid } of signatures) {
    it(`signature: ${name} is ${valid ? 'valid' : 'invalid'}`, () => {
      assert.equal(systemCrypto.verify(bytes(public_key), bytes(message), bytes(signature)), valid);
      if (seed === undefined) return;
      const signer = signerOf(bytes(seed));
      assert.equal(Buffer.from(signer.publicKey).toString('hex'), public_key);
      assert.equal(Buffer.from(signer.sign(bytes(message))).toString('hex'), signature);
    });
  }
});
