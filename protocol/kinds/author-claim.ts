import { writeEnvelopeBytes } from '../agents/write-envelope.js';
import { peerIdOf } from '../mesh/peer-id.js';
import { canonicalInstant } from '../time.js';
import type { AuthorContext } from './kind.js';
import { isObject, parsedObject } from './payload.js';

/**
 * Verifies what the payload of a memory says about its author. A memory that claims to be attested carries a signature
 * over its text, by a key that is fit to sign. Only a node attests for another agent, and its id follows from its key.
 * The payload holds everything needed, so every node reaches the same verdict; each reader checks which key an agent
 * has bound. Also verifies the memory that a removal carries. Payloads of another shape claim nothing.
 */
export function claimHolds(payload: string, author: AuthorContext): boolean {
  // Parse only texts that can hold the word; JSON may spell it with escapes.
  if (!payload.includes('agent_attested') && !payload.includes('\\u')) return true;
  const image = parsedObject(payload);
  return image === null || (imageHolds(image, author) && imageHolds(objectOr(image['was']), author));
}

type Value = Readonly<Record<string, unknown>>;

function imageHolds(image: Value, author: AuthorContext): boolean {
  const metadata = objectOr(image['metadata']);
  if (metadata['attest_level'] !== 'agent_attested') return true;
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
  if (!allTexts(texts) || canonicalInstant(texts.createdAt) === null) return false;
  const publicKey = author.keyFromText(texts.keyText);
  const signature = author.signatureFromText(texts.signatureText);
  if (publicKey === null || signature === null) return false;
  const { crypto } = author;
  if (attestedBy !== undefined && attestedBy !== peerIdOf(publicKey, crypto)) return false;
  const contentSha256 = crypto.sha256(texts.content);
  return crypto.verify(publicKey, writeEnvelopeBytes({ ...texts, contentSha256 }), signature);
}

const objectOr = (value: unknown): Value => (isObject(value) ? value : {});

function allTexts<K extends string>(values: Record<K, unknown>): values is Record<K, string> {
  return Object.values(values).every((value) => typeof value === 'string');
}
