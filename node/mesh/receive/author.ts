import { publicKeyProblem } from '../../../protocol/ed25519-admission.js';
import { PUBLIC_KEYS_IMPORTED_MAX } from '../../../protocol/limits.js';
import type { Crypto } from '../../../protocol/seams.js';
import { canonicalInstant } from '../../../protocol/time.js';
import { writeEnvelopeBytes } from '../../../protocol/write-envelope.js';
import { publicKeyFromText, signatureFromText } from '../../identity/key-text.js';

/**
 * Verifies what a replicated memory says of its author, again at every receiver: a memory that claims to be attested
 * carries a signature over its text, by a key that is fit to sign. Who attests for somebody else is a node, whose id
 * follows from that key. All of it follows from the payload alone, so that every node comes to the same verdict;
 * which key an agent has bound is each reader's question.
 */
export class AuthorJudge {
  readonly #crypto: Crypto;
  readonly #fit = new Map<string, boolean>();

  constructor(crypto: Crypto) {
    this.#crypto = crypto;
  }

  /**
   * False when a payload claims an attestation that does not hold, for the memory that it is the image of or for the one
   * that it removes. Payloads of another shape claim none; whether they can be kept is the store's to say.
   */
  holds(payload: string): boolean {
    // Only texts that can hold the word are parsed; JSON may spell it with escapes.
    if (!payload.includes('agent_attested') && !payload.includes('\\u')) return true;
    const image = parsed(payload);
    return image === null || (this.#imageHolds(image) && this.#imageHolds(objectOr(image['was'])));
  }

  #imageHolds(image: Value): boolean {
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
    if (!allTexts(texts) || canonicalInstant(texts.createdAt) === null || !this.#isFit(texts.keyText)) {
      return false;
    }
    const publicKey = publicKeyFromText(texts.keyText);
    const signature = signatureFromText(texts.signatureText);
    if (publicKey === null || signature === null) return false;
    if (attestedBy !== undefined && attestedBy !== peerIdOf(publicKey, this.#crypto)) return false;
    const contentSha256 = this.#crypto.sha256(texts.content);
    return this.#crypto.verify(publicKey, writeEnvelopeBytes({ ...texts, contentSha256 }), signature);
  }

  /** Judging a key costs as much as several verifications, so verdicts are kept. */
  #isFit(text: string): boolean {
    const known = this.#fit.get(text);
    if (known !== undefined) return known;
    if (this.#fit.size >= PUBLIC_KEYS_IMPORTED_MAX) this.#fit.clear();
    const publicKey = publicKeyFromText(text);
    const fit = publicKey !== null && publicKeyProblem(publicKey) === null;
    this.#fit.set(text, fit);
    return fit;
  }
}

/** The id of the node that has a key. */
export function peerIdOf(publicKey: Uint8Array, crypto: Crypto): string {
  return `peer-${crypto.sha256Hex(publicKey).slice(0, 16)}`;
}

type Value = Readonly<Record<string, unknown>>;

function parsed(text: string): Value | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const isObject = (value: unknown): value is Value =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectOr = (value: unknown): Value => (isObject(value) ? value : {});

function allTexts<K extends string>(values: Record<K, unknown>): values is Record<K, string> {
  return Object.values(values).every((value) => typeof value === 'string');
}
