import type { PeerId } from '../base/meanings.js';
import type { Random, Signer } from '../base/seams.js';
import { formatSignature, NONCE_HEADER, PEER_ID_HEADER, SIGNATURE_HEADER } from './message-headers.js';

/** The parts of a message that its signature covers. */
export interface MessageParts {
  readonly method: 'GET' | 'POST';
  /** With the API prefix, without the query. */
  readonly path: string;
  /** Raw query string without `?`; empty when there is no query. */
  readonly query: string;
  /** The exact bytes that travel; null or empty when there is no body. */
  readonly body: Uint8Array | null;
}

/**
 * The bytes under a message's signature (reference-federation §1.2): the body of a POST; method, path and query of a
 * GET, separated by line feeds; then, where there is a nonce, a zero byte and the nonce.
 */
export function signedBytes(message: MessageParts, nonce: string | null): Uint8Array {
  const encoder = new TextEncoder();
  const { method, path, query, body } = message;
  const said = method === 'GET' ? encoder.encode(`GET\n${path}\n${query}`) : (body ?? new Uint8Array(0));
  if (nonce === null) return said;
  const tail = encoder.encode(`\0${nonce}`);
  const bytes = new Uint8Array(said.length + tail.length);
  bytes.set(said);
  bytes.set(tail, said.length);
  return bytes;
}

export interface OutgoingMessage extends MessageParts {
  readonly peerId: PeerId;
  readonly signer: Signer;
  readonly random: Random;
}

/**
 * Signs a message with a fresh nonce and answers its headers, names in lower case. The same message may go to several
 * peers, because each receiver remembers the nonces of its senders.
 */
export function signMessage(message: OutgoingMessage): Readonly<Record<string, string>> {
  const nonce = message.random.uuid();
  const headers = {
    [PEER_ID_HEADER]: message.peerId,
    [NONCE_HEADER]: nonce,
    [SIGNATURE_HEADER]: formatSignature(message.signer.sign(signedBytes(message, nonce))),
  };
  return message.method === 'POST' ? { ...headers, 'content-type': 'application/json' } : headers;
}
