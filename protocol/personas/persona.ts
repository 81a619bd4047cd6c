import { encodeCborMap } from '../base/cbor.js';
import { publicKeyFromText, signatureFromText } from '../base/key-text.js';
import type { Instant, MemoryId } from '../base/meanings.js';
import type { Crypto } from '../base/seams.js';
import { isObject, isText } from '../kinds/payload.js';
import type { Memory } from '../memory/memory.js';

/** The reflections of which a persona is written, at most (reference-mcp-cli §6.2). */
export const PERSONA_SOURCES_MAX = 20;
export const PERSONA_PRIORITY = 7;

/** What the metadata of a persona says under `persona`. */
export interface PersonaMetadata {
  readonly entity_id: string;
  readonly sources: readonly MemoryId[];
  readonly version: number;
  readonly attest_level: 'self_signed' | 'unsigned';
  readonly generated_at: Instant;
  /** Base64, of the node that wrote it; absent without a key. */
  readonly signature?: string;
  readonly public_key?: string;
}

/** A persona as answers show it. */
export interface Persona {
  readonly id: MemoryId;
  readonly entity_id: string;
  readonly namespace: string;
  readonly body_md: string;
  readonly sources: readonly MemoryId[];
  readonly generated_at: Instant;
  readonly version: number;
  /** `invalid` where the signature is not of this text. */
  readonly attest_level: 'self_signed' | 'unsigned' | 'invalid';
}

export const personaTitle = (entityId: string, version: number): string =>
  `__persona_${entityId}_v${version}`;

/** What a node signs of a persona (reference-federation §1.1): a CBOR map with its keys in ascending order. */
export const personaEnvelopeBytes = (
  persona: Omit<Persona, 'attest_level'>,
  crypto: Pick<Crypto, 'sha256'>,
): Uint8Array =>
  encodeCborMap({
    body_md_sha256: crypto.sha256(persona.body_md),
    entity_id: persona.entity_id,
    generated_at: persona.generated_at,
    namespace: persona.namespace,
    persona_id: persona.id,
    sources: [...persona.sources],
    version: persona.version,
  });

/** The persona that a memory is; what its metadata does not say is taken from the row. */
export function personaOf(memory: Memory, crypto: Crypto): Persona {
  const said = isObject(memory.metadata['persona']) ? memory.metadata['persona'] : {};
  const { sources, generated_at: at, signature, public_key: key } = said;
  const persona = {
    id: memory.id,
    entity_id: memory.entity_id ?? '',
    namespace: memory.namespace,
    body_md: memory.content,
    sources: Array.isArray(sources) ? sources.filter(isText) : [],
    generated_at: isText(at) ? at : memory.created_at,
    version: memory.persona_version ?? 0,
  };
  return { ...persona, attest_level: attestLevel(persona, { signature, key }, crypto) };
}

function attestLevel(
  persona: Omit<Persona, 'attest_level'>,
  { signature, key }: { readonly signature: unknown; readonly key: unknown },
  crypto: Crypto,
): Persona['attest_level'] {
  if (signature === undefined) return 'unsigned';
  const publicKey = isText(key) ? publicKeyFromText(key) : null;
  const bytes = isText(signature) ? signatureFromText(signature) : null;
  const holds =
    publicKey !== null &&
    bytes !== null &&
    crypto.verify(publicKey, personaEnvelopeBytes(persona, crypto), bytes);
  return holds ? 'self_signed' : 'invalid';
}
