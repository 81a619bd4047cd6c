import assert from 'node:assert/strict';
import { ed25519 } from '@noble/curves/ed25519.js';
import { systemCrypto } from '../../node/seams.js';
import { publicKeyProblem } from '../../protocol/identity/ed25519-admission.js';
import { type SignatureCase, signatureCases } from './ed25519-cases.js';

/** The verdict of the curve library in strict mode; it throws where a length is wrong. */
export function libraryVerdict({ signature, message, publicKey }: SignatureCase): boolean {
  return signature.length === 64 && ed25519.verify(signature, message, publicKey, { zip215: false });
}

/** Holds node's verifier against the curve library for a range of rounds; answers how many cases there were. */
export function compareVerifiers(from: number, to: number): { cases: number; disagreements: number } {
  let cases = 0;
  let disagreements = 0;
  for (let round = from; round < to; round += 1) {
    const ofRound = signatureCases(round);
    assert.equal(publicKeyProblem(ofRound[0]!.publicKey), null, 'honest keys are admitted');
    for (const each of ofRound) {
      const node = systemCrypto.verify(each.publicKey, each.message, each.signature);
      const library = libraryVerdict(each);
      const where = `round ${round}, ${each.name}: ${Buffer.from(each.signature).toString('hex')}`;
      assert.equal(node, each.valid, `node: ${where}`);
      assert.equal(library !== node, each.libraryDiffers, `the library: ${where}`);
      cases += 1;
      if (library !== node) disagreements += 1;
    }
  }
  return { cases, disagreements };
}
