import { canonicalJson } from '../base/canonical-json.js';
import { encodeCborMap } from '../base/cbor.js';
import { publicKeyFromText, signatureFromText } from '../base/key-text.js';
import type { Instant } from '../base/meanings.js';
import type { Crypto } from '../base/seams.js';
import { type AuthorContext, type AuthorVerdict, NO_AUTHOR } from '../kinds/kind.js';

/**
 * What nodes sign of coordination (reference-federation §1.1): CBOR maps with their keys in plain ascending order, as those
 * of memories and links; instants are whole epoch seconds, and hashes are those of canonical JSON.
 */

/** A signature and the key that made it, in base64; null where nothing is signed. */
export interface Signed {
  readonly signature: string | null;
  readonly public_key: string | null;
}

export const UNSIGNED: Signed = { signature: null, public_key: null };

/** Whole seconds since the epoch. */
export const epochSeconds = (instant: Instant): number => Math.floor(Date.parse(instant) / 1000);

/** The same for an instant that may be absent. */
export const epochSecondsOrNull = (instant: Instant | null): number | null =>
  instant === null ? null : epochSeconds(instant);

/** What a signal says of itself under its signature. */
export interface SignableSignal {
  readonly signal_id: string;
  readonly namespace: string;
  readonly from_agent: string;
  readonly to_agent: string | null;
  readonly subject: string;
  /** Canonical JSON. */
  readonly body: string;
  readonly signal_type: string;
  readonly in_reply_to: string | null;
  readonly correlation_id: string | null;
  readonly created_at: Instant;
}

export const signalEnvelopeBytes = (signal: SignableSignal, crypto: Pick<Crypto, 'sha256'>): Uint8Array =>
  encodeCborMap({
    body_sha256: crypto.sha256(signal.body),
    correlation_id: signal.correlation_id,
    created_at: epochSeconds(signal.created_at),
    from_agent: signal.from_agent,
    id: signal.signal_id,
    in_reply_to: signal.in_reply_to,
    namespace: signal.namespace,
    signal_type: signal.signal_type,
    subject: signal.subject,
    to_agent: signal.to_agent,
  });

/** A move of an action, as the node signs it that took the request. */
export interface SignableTransition {
  readonly action_id: string;
  readonly namespace: string;
  readonly from: string;
  readonly to: string;
  readonly claimed_by: string | null;
  readonly at: Instant;
  /** Standard base64. */
  readonly nonce: string;
}

export const transitionEnvelopeBytes = (move: SignableTransition): Uint8Array =>
  encodeCborMap({
    action_id: move.action_id,
    claimed_by: move.claimed_by,
    created_at: epochSeconds(move.at),
    from_state: move.from,
    namespace: move.namespace,
    nonce: new Uint8Array(Buffer.from(move.nonce, 'base64')),
    to_state: move.to,
  });

/** The verdict on a checkpoint, as its resolver signs it. */
export interface SignableResolution {
  readonly checkpoint_id: string;
  readonly namespace: string;
  readonly state: string;
  readonly resolution: string | null;
  readonly resolved_by: string;
  readonly resolved_at: Instant;
}

export const resolutionEnvelopeBytes = (verdict: SignableResolution): Uint8Array =>
  encodeCborMap({
    checkpoint_id: verdict.checkpoint_id,
    namespace: verdict.namespace,
    resolution: verdict.resolution,
    resolved_at: epochSeconds(verdict.resolved_at),
    resolved_by: verdict.resolved_by,
    state: verdict.state,
  });

/** A routine, as it is signed when it is frozen. */
export interface SignableRoutine {
  readonly routine_id: string;
  readonly namespace: string;
  readonly name: string;
  readonly template: object;
  /** Canonical JSON. */
  readonly parameters: string;
  readonly frozen_at: Instant;
}

export const routineEnvelopeBytes = (routine: SignableRoutine, crypto: Pick<Crypto, 'sha256'>): Uint8Array =>
  encodeCborMap({
    frozen_at: epochSeconds(routine.frozen_at),
    name: routine.name,
    namespace: routine.namespace,
    parameters_sha256: crypto.sha256(routine.parameters),
    routine_id: routine.routine_id,
    template_sha256: crypto.sha256(canonicalJson(routine.template)),
  });

/** Whether a payload's own signature covers it. A payload without signature and key claims no author. */
export function signedVerdict(
  { signature, public_key: key }: Signed,
  data: (crypto: Crypto) => Uint8Array,
  { crypto, keyFromText, signatureFromText: signatureOf }: AuthorContext,
): AuthorVerdict {
  if (signature === null && key === null) return NO_AUTHOR;
  const publicKey = key === null ? null : keyFromText(key);
  const bytes = signature === null ? null : signatureOf(signature);
  const holds = publicKey !== null && bytes !== null && crypto.verify(publicKey, data(crypto), bytes);
  return { holds, envelope: null };
}

/** Whether a signature holds, for a key that was admitted before. */
export function holdsFor({ signature, public_key: key }: Signed, data: Uint8Array, crypto: Crypto): boolean {
  const publicKey = key === null ? null : publicKeyFromText(key);
  const bytes = signature === null ? null : signatureFromText(signature);
  return publicKey !== null && bytes !== null && crypto.verify(publicKey, data, bytes);
}
