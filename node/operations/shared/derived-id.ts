import { uuidOfDigest } from '../../../protocol/base/ids.js';
import type { ReadCall } from '../../pipeline/call.js';

/** An id that follows from a text, so that nodes that make the same thing at the same time make one row. */
export function derivedId(call: ReadCall, text: string): string {
  return uuidOfDigest(call.services.crypto.sha256Hex(`mnemesh/${text}`));
}
