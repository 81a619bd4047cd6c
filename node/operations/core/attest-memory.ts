import { canonicalInstant } from '../../../protocol/base/time.js';
import { writeEnvelopeBytes } from '../../../protocol/identity/write-envelope.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';

/**
 * Attests a new memory as the pipeline has decided: with the author's own signature, whose instant it takes, or with
 * the machine's key, recording the machine as attester (decisions, "local signing"). Otherwise the memory stays
 * claimed.
 */
export function attestMemory(memory: Memory, call: ReadCall): Memory {
  const { level, signer, signature } = call.attestation;
  if (level !== 'agent_attested') return memory;
  const metadata = { ...memory.metadata, attest_level: level };
  if (signature !== null) {
    const createdAt = canonicalInstant(signature.created_at) ?? memory.created_at;
    return { ...memory, created_at: createdAt, metadata, write_signature: signature };
  }
  if (signer === null) return memory;
  const signed = signer.sign(
    writeEnvelopeBytes({
      agentId: String(memory.metadata['agent_id']),
      namespace: memory.namespace,
      title: memory.title,
      kind: memory.kind,
      createdAt: memory.created_at,
      contentSha256: call.services.crypto.sha256(memory.content),
    }),
  );
  return {
    ...memory,
    metadata: { ...metadata, attested_by: call.services.peerId },
    write_signature: {
      signature: Buffer.from(signed).toString('base64'),
      created_at: memory.created_at,
      public_key: Buffer.from(signer.publicKey).toString('base64'),
    },
  };
}
