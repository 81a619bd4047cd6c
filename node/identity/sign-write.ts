import { signatureFromText } from '../../protocol/base/key-text.js';
import { SIGNED_WRITE_FRESHNESS_MS } from '../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Crypto, Signer } from '../../protocol/base/seams.js';
import { parseRfc3339Ms } from '../../protocol/base/time.js';
import { writeEnvelopeBytes } from '../../protocol/identity/write-envelope.js';

/** The fields of a memory that its author signs, as they will be stored. */
export interface SignedFields {
  readonly agentId: string;
  readonly namespace: string;
  readonly title: string;
  readonly kind: string;
  readonly content: string;
}

/** What accompanies the fields of a signed write. */
export interface WriteSignature {
  /** Standard base64 with padding, 88 characters. */
  readonly signature: string;
  /** RFC 3339, as it was signed. */
  readonly created_at: string;
}

/** A write whose signature is valid. */
export interface VerifiedWrite {
  readonly signature: Uint8Array;
  /**
   * What was signed. A ledger of replays must record this and not the signature, because the holder of the key can
   * sign the same bytes in many ways.
   */
  readonly envelope: Uint8Array;
  /** As it was signed, and as an instant. */
  readonly createdAt: string;
  readonly signedMs: number;
}

/** The bytes under the signature of a write (interface §4.2, rule 1). */
export function signedBytes(
  fields: SignedFields,
  createdAt: string,
  crypto: Pick<Crypto, 'sha256'>,
): Uint8Array {
  const { content, ...named } = fields;
  return writeEnvelopeBytes({ ...named, createdAt, contentSha256: crypto.sha256(content) });
}

/** Signs a write with the key of its author. */
export function signWrite(
  key: Signer,
  fields: SignedFields,
  createdAt: string,
  crypto: Crypto,
): WriteSignature {
  const signature = key.sign(signedBytes(fields, createdAt, crypto));
  return { signature: Buffer.from(signature).toString('base64'), created_at: createdAt };
}

/**
 * Verifies the signature of a write (interface §4.2, rules 2 to 4 and 6). VALIDATION_FAILED when `created_at` is
 * missing or not an RFC 3339 instant; ATTESTATION_FAILED when it lies more than 300 seconds either side of `nowMs`,
 * when the text is not a signature, when the author has no bound key (`publicKey` null), and when the signature does
 * not verify. The key must have been admitted when it was bound.
 */
export function verifyWrite(
  fields: SignedFields,
  presented: { readonly signature: string; readonly created_at: unknown },
  publicKey: Uint8Array | null,
  nowMs: number,
  crypto: Crypto,
): Result<VerifiedWrite> {
  const createdAt = presented.created_at;
  if (typeof createdAt !== 'string') {
    return fail('VALIDATION_FAILED', 'created_at is required with a signature', { fields: ['created_at'] });
  }
  const signedMs = parseRfc3339Ms(createdAt);
  if (signedMs === null) {
    return fail('VALIDATION_FAILED', 'created_at must be an RFC 3339 instant', { fields: ['created_at'] });
  }
  if (Math.abs(nowMs - signedMs) > SIGNED_WRITE_FRESHNESS_MS) {
    return fail('ATTESTATION_FAILED', "created_at is more than 300 seconds away from this node's clock");
  }
  const signature = signatureFromText(presented.signature);
  if (signature === null) {
    return fail('ATTESTATION_FAILED', 'signature must be 64 bytes in standard base64 with padding');
  }
  const step = `"agents bind-key --agent-id ${fields.agentId}"`;
  if (publicKey === null) {
    const message = `no public key is bound to this agent: register it with "agents register", then bind its key with ${step}`;
    return fail('ATTESTATION_FAILED', message);
  }
  const envelope = signedBytes(fields, createdAt, crypto);
  return crypto.verify(publicKey, envelope, signature)
    ? ok({ signature, envelope, createdAt, signedMs })
    : fail(
        'ATTESTATION_FAILED',
        `the signature does not verify under the agent's bound key: sign with that key, or bind the new one with ${step}`,
      );
}
