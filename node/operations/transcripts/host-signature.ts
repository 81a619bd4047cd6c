import { isSameKey, publicKeyFromText, signatureFromText } from '../../../protocol/base/key-text.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { Crypto } from '../../../protocol/base/seams.js';
import { type Transcript, turnBytes } from '../../../protocol/transcripts/transcript-kind.js';

type Attested = Pick<Transcript, 'attest_level' | 'host_signature' | 'host_pubkey'>;

interface Presented {
  readonly host_signature_b64?: string | undefined;
  readonly host_pubkey_b64?: string | undefined;
}

const UNSIGNED: Attested = { attest_level: 'self_signed', host_signature: null, host_pubkey: null };

/** Keys of hosts that were admitted, because that takes about a millisecond; only enrolled keys come here. */
const admitted = new Set<string>();

/**
 * What the signature of a host is worth. VALIDATION_FAILED for a signature without a key and for a key without a signature,
 * HOST_PUBKEY_NOT_ENROLLED for a host that the operator does not trust, ATTESTATION_FAILED for a wrong signature.
 */
export async function hostAttestation(
  turn: Pick<Transcript, 'host_session_id' | 'host_turn_index' | 'role'>,
  content: string,
  { host_signature_b64: signature, host_pubkey_b64: key }: Presented,
  { trusted, crypto }: { readonly trusted: readonly string[]; readonly crypto: Crypto },
): Promise<Result<Attested>> {
  if (signature === undefined && key === undefined) return ok(UNSIGNED);
  if (signature === undefined || key === undefined) {
    const fields = [signature === undefined ? 'host_signature_b64' : 'host_pubkey_b64'];
    return fail('VALIDATION_FAILED', 'host_signature_b64 and host_pubkey_b64 belong together', { fields });
  }
  const enrolled = trusted.find((one) => isSameKey(one, key));
  if (enrolled === undefined) {
    return fail(
      'HOST_PUBKEY_NOT_ENROLLED',
      `HOST_PUBKEY_NOT_ENROLLED: ${key} is not in SVC_L4_HOST_PUBKEY_ALLOWLIST`,
    );
  }
  const publicKey = await admittedKey(enrolled);
  const bytes = signatureFromText(signature);
  const holds =
    publicKey !== null && bytes !== null && crypto.verify(publicKey, turnBytes(turn, content), bytes);
  return holds
    ? ok({ attest_level: 'signed_by_peer', host_signature: signature, host_pubkey: key })
    : fail('ATTESTATION_FAILED', 'host_signature_b64 is not the signature of this turn by host_pubkey_b64', {
        fields: ['host_signature_b64'],
      });
}

/** The bytes of an enrolled key; null for one with which anyone could sign. */
async function admittedKey(text: string): Promise<Uint8Array | null> {
  const bytes = publicKeyFromText(text);
  if (bytes === null || admitted.has(text)) return bytes;
  const { publicKeyProblem } = await import('../../../protocol/identity/ed25519-admission.js');
  if (publicKeyProblem(bytes) !== null) return null;
  admitted.add(text);
  return bytes;
}
