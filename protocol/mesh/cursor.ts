import { canonicalJson } from '../canonical-json.js';
import type { Have } from './wire.js';

/**
 * A cursor of `GET /sync/since` is what its holder has, as base64url of canonical JSON. It is made by who reads from
 * what is durably his, so it can neither pass a row that failed to apply nor be pinned by a peer, and ties do not exist.
 */
export function encodeCursor(have: Have): string {
  const bytes = new TextEncoder().encode(canonicalJson(have));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** What a cursor says, or null for a text that is none. */
export function decodeCursor(cursor: string): Have | null {
  if (!/^[A-Za-z0-9_-]*$/.test(cursor)) return null;
  try {
    const binary = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
    const entries = Object.entries(value);
    const valid = entries.every(([, seq]) => Number.isSafeInteger(seq) && (seq as number) >= 0);
    return valid ? (value as Have) : null;
  } catch {
    return null;
  }
}
