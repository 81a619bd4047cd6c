import { createHash } from 'node:crypto';
import { signerOf } from '../../node/identity/key-file.js';
import { signWrite } from '../../node/identity/sign-write.js';
import { systemCrypto } from '../../node/seams.js';
import { publicKeyText } from '../../protocol/base/key-text.js';
import type { Signer } from '../../protocol/base/seams.js';

/** An agent of a test with its key. */
export interface AgentKey {
  readonly agentId: string;
  readonly seed: Uint8Array;
  readonly signer: Signer;
  /** As `agents bind-key` and PUT /agents/{id}/pubkey take it. */
  readonly publicKeyText: string;
}

/** The key of an agent: always the same one for the same name. */
export function agentKey(agentId: string, seed: Uint8Array = seedOf(agentId)): AgentKey {
  const signer = signerOf(seed);
  return { agentId, seed, signer, publicKeyText: publicKeyText(signer.publicKey) };
}

const seedOf = (name: string) => createHash('sha256').update(`a test key: ${name}`).digest();

/** The signed fields of a memory; what is absent has the service's default. */
export interface StoreFields {
  readonly title: string;
  readonly content: string;
  readonly namespace?: string;
  readonly kind?: string;
  readonly [field: string]: unknown;
}

/**
 * The body of a signed POST /memories (or the arguments of memory_store): the fields as given, with agent_id, signature
 * and created_at. What the service fills in (namespace `global`, kind `observation`) is signed as such.
 */
export function signedStoreBody<F extends StoreFields>(key: AgentKey, fields: F, createdAt: string) {
  const { title, content, namespace = 'global', kind = 'observation' } = fields;
  const signed = { agentId: key.agentId, namespace, title, kind, content };
  return { ...fields, agent_id: key.agentId, ...signWrite(key.signer, signed, createdAt, systemCrypto) };
}
