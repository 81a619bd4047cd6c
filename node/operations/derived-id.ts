import type { ReadCall } from '../pipeline/call.js';

/** An id that follows from a text, so that nodes that make the same thing at the same time make one row. */
export function derivedId(call: ReadCall, text: string): string {
  const hex = call.services.crypto.sha256Hex(`mnemesh/${text}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
