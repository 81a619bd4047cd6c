import { agentIdProblem } from '../base/ids.js';

/** Header names of messages between nodes, lower case (reference-federation §1.2). */
export const PEER_ID_HEADER = 'x-peer-id';
export const SIGNATURE_HEADER = 'x-memory-sig';
export const NONCE_HEADER = 'x-memory-nonce';

/** A nonce may not be longer than this; our own nonces are UUIDs. */
const NONCE_LENGTH_MAX = 128;

const NONCE = /^[\x21-\x7e]+$/;
/** Standard base64 of 64 bytes in its only spelling: padded, and without stray bits. */
const SIGNATURE = /^[A-Za-z0-9+/]{85}[AQgw]==$/;
const ALGORITHM = 'ed25519';

/** The peer id of a header; null when it is absent or not a peer id, which are treated alike. */
export function parsePeerId(header: string | undefined): string | null {
  return header === undefined || agentIdProblem(header) !== null ? null : header;
}

/** The nonce of a header; null when it is absent, empty, too long or not plain text. Otherwise it is opaque. */
export function parseNonce(header: string | undefined): string | null {
  const nonce = header?.trim() ?? '';
  return nonce.length <= NONCE_LENGTH_MAX && NONCE.test(nonce) ? nonce : null;
}

/** What a signature header says. */
export type ParsedSignature =
  | { readonly kind: 'signature'; readonly signature: Uint8Array }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unknown-algorithm' }
  | { readonly kind: 'malformed' };

/** Reads `ed25519=<base64>`; it ignores everything after the first `;`, and white space around the parts. */
export function parseSignature(header: string | undefined): ParsedSignature {
  const text = (header ?? '').split(';', 1)[0]!.trim();
  if (text === '') return { kind: 'missing' };
  const equals = text.indexOf('=');
  if (equals === -1) return { kind: 'malformed' };
  if (text.slice(0, equals).trim() !== ALGORITHM) return { kind: 'unknown-algorithm' };
  const value = text.slice(equals + 1).trim();
  if (!SIGNATURE.test(value)) return { kind: 'malformed' };
  return {
    kind: 'signature',
    signature: Uint8Array.from(atob(value), (character) => character.charCodeAt(0)),
  };
}

/** The header of a signature. */
export function formatSignature(signature: Uint8Array): string {
  let binary = '';
  for (const byte of signature) binary += String.fromCharCode(byte);
  return `${ALGORITHM}=${btoa(binary)}`;
}
