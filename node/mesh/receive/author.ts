import { publicKeyProblem } from '../../../protocol/ed25519-admission.js';
import { PUBLIC_KEYS_IMPORTED_MAX } from '../../../protocol/limits.js';
import type { Crypto } from '../../../protocol/seams.js';
import { canonicalInstant } from '../../../protocol/time.js';
import { writeEnvelopeBytes } from '../../../protocol/write-envelope.js';
import { publicKeyFromText, signatureFromText } from '../../identity/key-text.js';
import type { PayloadImage } from './image-problem.js';

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

  /** False when the memory claims an attestation that does not hold. */
  holds(image: PayloadImage): boolean {
    if (image.metadata['attest_level'] !== 'agent_attested') return true;
    const signed = image.write_signature;
    const agentId = image.metadata['agent_id'];
    if (signed === null || typeof agentId !== 'string') return false;
    if (canonicalInstant(signed.created_at) === null || !this.#isFit(signed.public_key)) return false;
    const publicKey = publicKeyFromText(signed.public_key);
    const signature = signatureFromText(signed.signature);
    if (publicKey === null || signature === null) return false;
    const attestedBy = image.metadata['attested_by'];
    if (attestedBy !== undefined && attestedBy !== peerIdOf(publicKey, this.#crypto)) return false;
    const envelope = writeEnvelopeBytes({
      agentId,
      namespace: image.namespace,
      title: image.title,
      kind: image.kind,
      createdAt: signed.created_at,
      contentSha256: this.#crypto.sha256(image.content),
    });
    return this.#crypto.verify(publicKey, envelope, signature);
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
