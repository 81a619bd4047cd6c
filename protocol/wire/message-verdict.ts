import type { ErrorCode } from '../base/errors.js';
import type { Crypto } from '../base/seams.js';
import type { Peer } from '../peers/peer.js';
import {
  NONCE_HEADER,
  PEER_ID_HEADER,
  parseNonce,
  parsePeerId,
  parseSignature,
  SIGNATURE_HEADER,
} from './message-headers.js';
import { signedBytes } from './message-signing.js';
import type { ReceivedMessage } from './transport.js';

/** What the operator's settings demand of messages (interface §5.2). */
export interface MessagePolicy {
  readonly requireSignature: boolean;
  readonly requireNonce: boolean;
  /**
   * `enforce` refuses a certificate that is bound to no peer. A bound certificate speaks only for its peer in both
   * modes.
   */
  readonly certificateBinding: 'warn' | 'enforce';
}

/** The peers that may send. */
export interface Senders {
  find(peerId: string): Peer | null;
  /** True when an operator allows this peer id, enrolled or not. */
  isListed(peerId: string): boolean;
  /** The peer that a certificate belongs to. */
  holderOf(fingerprint: string): string | null;
}

/** Why a message is not authenticated; each tag is an error code. */
export type MessageTag = Extract<
  ErrorCode,
  | 'peer_id_header_missing'
  | 'x_peer_id_not_in_allowlist'
  | 'peer_not_enrolled'
  | 'peer_id_cert_mismatch'
  | 'peer_id_cert_unbound'
  | 'x_memory_sig_missing'
  | 'x_memory_sig_unknown_algorithm'
  | 'x_memory_sig_malformed'
  | 'x_memory_sig_bad_signature'
  | 'x_memory_nonce_missing'
>;

export type MessageVerdict =
  | {
      readonly ok: true;
      readonly peer: Peer;
      /** The signed nonce, which must be new; null when no nonce is required. */
      readonly nonce: string | null;
      /** True when the certificate is bound to no peer. */
      readonly certificateUnbound: boolean;
    }
  | { readonly ok: false; readonly tag: MessageTag };

/**
 * Verifies the sender of a message by its headers, certificate and signature, in the order of reference-federation §1.4
 * and before a byte of its body is parsed. The caller checks that its nonce is new. A message without any sign of a
 * peer counts as unsigned.
 */
export function checkMessage(
  message: ReceivedMessage,
  policy: MessagePolicy,
  senders: Senders,
  crypto: Crypto,
): MessageVerdict {
  const parsed = parseSignature(message.headers[SIGNATURE_HEADER]);
  const peerId = parsePeerId(message.headers[PEER_ID_HEADER]);
  if (peerId === null) {
    const unsigned = parsed.kind === 'missing' && policy.requireSignature;
    return refuse(unsigned ? 'x_memory_sig_missing' : 'peer_id_header_missing');
  }
  const peer = senders.find(peerId);
  if (peer === null || peer.state !== 'member') {
    const known = peer === null && senders.isListed(peerId);
    return refuse(known ? 'peer_not_enrolled' : 'x_peer_id_not_in_allowlist');
  }
  const bound = checkCertificate(peer, message.fingerprint, senders);
  if (bound === 'another' || (bound === 'unbound' && policy.certificateBinding === 'enforce')) {
    return refuse(bound === 'another' ? 'peer_id_cert_mismatch' : 'peer_id_cert_unbound');
  }
  const certificateUnbound = bound === 'unbound';

  switch (parsed.kind) {
    case 'missing':
      if (policy.requireSignature) return refuse('x_memory_sig_missing');
      return { ok: true, peer, nonce: null, certificateUnbound };
    case 'unknown-algorithm':
      return refuse('x_memory_sig_unknown_algorithm');
    case 'malformed':
      return refuse('x_memory_sig_malformed');
    case 'signature': {
      const nonce = parseNonce(message.headers[NONCE_HEADER]);
      if (nonce === null && policy.requireNonce) return refuse('x_memory_nonce_missing');
      if (!crypto.verify(peer.publicKey, signedBytes(message, nonce), parsed.signature)) {
        return refuse('x_memory_sig_bad_signature');
      }
      return { ok: true, peer, nonce, certificateUnbound };
    }
  }
}

const refuse = (tag: MessageTag): MessageVerdict => ({ ok: false, tag });

/** Which peer the certificate of a connection is bound to. A connection without mutual TLS counts as the peer's. */
function checkCertificate(
  peer: Peer,
  fingerprint: string | null,
  senders: Senders,
): 'peer' | 'another' | 'unbound' {
  if (fingerprint === null || peer.fingerprints.includes(fingerprint)) return 'peer';
  if (peer.fingerprints.length > 0 || senders.holderOf(fingerprint) !== null) return 'another';
  return 'unbound';
}
