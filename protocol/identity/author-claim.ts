import { SIGNED_WRITE_FRESHNESS_MS } from '../base/limits.js';
import { canonicalInstant } from '../base/time.js';
import { type AuthorContext, type AuthorVerdict, NO_AUTHOR } from '../kinds/kind.js';
import { isObject, parsedObject } from '../kinds/payload.js';
import { peerIdOf } from '../log/peer-id.js';
import { writeEnvelopeBytes } from './write-envelope.js';

/**
 * Verifies what the payload of a memory says about its author. A memory that claims to be attested carries a signature
 * over its text, by a key that is fit to sign. Only a node attests for another agent, and its id follows from its key.
 * The payload holds everything needed, so every node reaches the same verdict; at the read each node judges
 * whether the key speaks for the agent (`isAttested`). Also verifies the memory that a removal carries. Payloads of
 * another shape claim nothing.
 */
export function verifyClaim(payload: string, author: AuthorContext): AuthorVerdict {
  // Parse only texts that can hold the word; JSON may spell it with escapes.
  if (!payload.includes('agent_attested') && !payload.includes('\\u')) return NO_AUTHOR;
  const image = parsedObject(payload);
  if (image === null) return NO_AUTHOR;
  const verdict = verifyImage(image, author);
  return verdict.holds && verifyImage(objectOr(image['was']), author).holds ? verdict : WRONG;
}

const WRONG: AuthorVerdict = { holds: false, envelope: null };

type Value = Readonly<Record<string, unknown>>;

function verifyImage(image: Value, author: AuthorContext): AuthorVerdict {
  const metadata = objectOr(image['metadata']);
  if (metadata['attest_level'] !== 'agent_attested') return NO_AUTHOR;
  const { agent_id: agentId, attested_by: attestedBy } = metadata;
  const signed = objectOr(image['write_signature']);
  const { namespace, title, kind, content } = image;
  const texts = {
    agentId,
    namespace,
    title,
    kind,
    content,
    createdAt: signed['created_at'],
    keyText: signed['public_key'],
    signatureText: signed['signature'],
  };
  if (!allTexts(texts)) return WRONG;
  const signedAt = canonicalInstant(texts.createdAt);
  if (signedAt === null) return WRONG;
  const publicKey = author.keyFromText(texts.keyText);
  const signature = author.signatureFromText(texts.signatureText);
  if (publicKey === null || signature === null) return WRONG;
  const { crypto } = author;
  if (attestedBy !== undefined && attestedBy !== peerIdOf(publicKey, crypto)) return WRONG;
  const contentSha256 = crypto.sha256(texts.content);
  const envelope = writeEnvelopeBytes({ ...texts, contentSha256 });
  if (!crypto.verify(publicKey, envelope, signature)) return WRONG;
  // Nobody presents what a node signed for an agent.
  if (attestedBy !== undefined) return NO_AUTHOR;
  const expiresAtMs = Date.parse(signedAt) + SIGNED_WRITE_FRESHNESS_MS;
  const fingerprint = crypto.sha256Hex(envelope);
  return {
    holds: true,
    envelope: { agentId: texts.agentId, publicKey: texts.keyText, fingerprint, expiresAtMs },
  };
}

const objectOr = (value: unknown): Value => (isObject(value) ? value : {});

function allTexts<K extends string>(values: Record<K, unknown>): values is Record<K, string> {
  return Object.values(values).every((value) => typeof value === 'string');
}
