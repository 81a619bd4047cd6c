import * as limits from '../base/limits.js';
import { instantFromMs } from '../base/time.js';
import { utf8Bytes } from '../base/utf8.js';

/**
 * What a peer may send as the value of a member. The limits are wider than those of local writes, so that a later
 * release can raise its own. Each verdict follows from the value, so all nodes reach the same one.
 */
export type Admits = (value: unknown) => boolean;

/** Text of at most so many UTF-8 bytes, which every store can hold: PostgreSQL has no U+0000 in texts. */
export const textOf =
  (bytesMax: number): Admits =>
  (value) =>
    typeof value === 'string' &&
    value.isWellFormed() &&
    !value.includes('\0') &&
    bytesWithin(value, bytesMax);

/** An instant in its canonical form, of which there is one for each millisecond of the years 1 to 9999. */
export const instant: Admits = (value) =>
  typeof value === 'string' && value.length === CANONICAL_LENGTH && isCanonical(value);

const CANONICAL_LENGTH = '2026-01-01T00:00:00.000Z'.length;

function isCanonical(text: string): boolean {
  const ms = Date.parse(text);
  return Number.isFinite(ms) && instantFromMs(ms) === text && !text.startsWith('0000');
}

export const orNull =
  (admits: Admits): Admits =>
  (value) =>
    value === null || admits(value);

export const listOf =
  (admits: Admits, max: number): Admits =>
  (value) =>
    Array.isArray(value) && value.length <= max && value.every(admits);

/** JSON within the limit of depth, of at most so many bytes. */
export const shallowJson =
  (bytesMax: number): Admits =>
  (value) =>
    isEmptyObject(value) ||
    (isShallow(value, limits.REPLICATED_JSON_DEPTH_MAX) && bytesWithin(JSON.stringify(value), bytesMax));

/** JSON within the limits of depth and bytes of metadata. */
export const json: Admits = shallowJson(limits.REPLICATED_JSON_BYTES_MAX);

function isEmptyObject(value: unknown): boolean {
  if (typeof value !== 'object') return false;
  for (const _ in value) return false;
  return true;
}

/** True for a text of at most so many UTF-8 bytes; a UTF-16 unit is three bytes at most. */
function bytesWithin(text: string, bytesMax: number): boolean {
  return text.length * 3 <= bytesMax || (text.length <= bytesMax && utf8Bytes(text) <= bytesMax);
}

/** It stops at `depth`, so that a hostile value cannot exhaust the stack. */
function isShallow(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (value === null || typeof value !== 'object') return true;
  return (
    depth > 0 &&
    Object.entries(value).every(([key, member]) => key.isWellFormed() && isShallow(member, depth - 1))
  );
}
