import { canonicalJson } from '../base/canonical-json.js';
import type { Have } from './wire-operation.js';

/**
 * A cursor of `GET /sync/since` is what its holder has, as base64url of canonical JSON. The reader makes it from what
 * it has stored durably. So it cannot skip a row that failed to apply, a peer cannot hold it back, and ties cannot
 * occur.
 */
export function encodeCursor(have: Have): string {
  const bytes = new TextEncoder().encode(canonicalJson(have));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** What a cursor says; null for a text that is not a cursor. */
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
