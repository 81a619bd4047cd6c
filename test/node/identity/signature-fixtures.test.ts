import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { signerOf } from '../../../node/identity/key-file.js';
import { publicKeyFromText } from '../../../node/identity/key-text.js';
import { judgeWrite } from '../../../node/identity/sign-write.js';
import { memoryStore } from '../../../node/operations/memory-store.js';
import { parseInput } from '../../../node/pipeline/parse.js';
import { systemCrypto } from '../../../node/seams.js';
import { publicKeyProblem } from '../../../protocol/ed25519-admission.js';
import { ERRORS } from '../../../protocol/errors.js';
import { failed } from '../../../protocol/result.js';
import {
  type KeyVector,
  type SignatureVector,
  signatureFixtures,
  type WriteVector,
} from '../../support/signature-fixtures.js';

const fixture = (name: string) => readFileSync(`fixtures/${name}`, 'utf8');
const { keys, signatures } = JSON.parse(fixture('ed25519.json')) as {
  keys: KeyVector[];
  signatures: SignatureVector[];
};
const writes = JSON.parse(fixture('attestation.json')) as WriteVector[];
const bytes = (hex: string) => Buffer.from(hex, 'hex');

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

  // An unsigned write is decided by the stage of the pipeline and not by its signature.
  for (const vector of writes.filter(({ body }) => body['signature'] !== undefined)) {
    it(`write: ${vector.name} is ${vector.status} ${vector.code ?? ''}`.trimEnd(), () => {
      const result = judge(vector);
      assert.equal(result.ok ? null : result.error.code, vector.code, JSON.stringify(result));
      assert.equal(result.ok ? 201 : ERRORS[result.error.code].http, vector.status);
    });
  }
});

/** As a surface would: the body through the operation's own schema, then its signature. */
function judge({ now, agent_id, bound_public_key, body }: WriteVector) {
  const parsed = parseInput(memoryStore, body, 'refuse');
  if (!parsed.ok) return failed(parsed.error);
  const {
    namespace = 'global',
    title,
    kind,
    content,
    signature,
    created_at,
  } = parsed.value as Record<string, string>;
  return judgeWrite(
    { agentId: agent_id, namespace, title: title!, kind: kind!, content: content! },
    { signature: signature!, created_at },
    bound_public_key === null ? null : publicKeyFromText(bound_public_key),
    Date.parse(now),
    systemCrypto,
  );
}
