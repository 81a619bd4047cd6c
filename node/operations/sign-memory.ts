import type { Memory } from '../../protocol/memory.js';
import { writeEnvelopeBytes } from '../../protocol/write-envelope.js';
import type { Call } from '../pipeline/call.js';

/**
 * Signs a new memory with the machine's key where the pipeline has decided so, and records who attests it
 * (decisions, "local signing"). Otherwise the memory stays as it is, claimed.
 */
export function signMemory(memory: Memory, call: Call): Memory {
  const { level, signer } = call.attestation;
  if (level !== 'agent_attested' || signer === null) return memory;
  const signature = signer.sign(
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
    metadata: { ...memory.metadata, attest_level: level, attested_by: call.services.peerId },
    write_signature: {
      signature: Buffer.from(signature).toString('base64'),
      created_at: memory.created_at,
      public_key: Buffer.from(signer.publicKey).toString('base64'),
    },
  };
}
