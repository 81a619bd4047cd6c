import { canonicalInstant, instantFromMs } from '../../../protocol/base/time.js';

const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d+)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i;
const EPOCH = /^\d{9,14}(\.\d+)?$/;
/** Smaller numbers are seconds (until the year 5138), others milliseconds (from 1973). */
const EPOCH_SECONDS_BELOW = 1e11;
const INSTANT_MS_MAX = Date.UTC(9999, 11, 31);

/**
 * An instant in canonical form, as older releases, scripts and SQLite's own functions wrote it; null for any other
 * value. Accepts RFC 3339, a blank instead of `T`, a missing offset (UTC), a bare date (midnight UTC) and epoch seconds
 * or milliseconds.
 */
export function olderInstant(value: unknown): string | null {
  if (typeof value === 'number') return epochInstant(value);
  const text = olderText(value).trim();
  if (EPOCH.test(text)) return epochInstant(Number(text));
  const match = DATE_TIME.exec(text);
  if (match === null) return null;
  const [, date, minutes = '00:00', seconds = ':00', fraction = '', offset = 'Z'] = match;
  return canonicalInstant(`${date}T${minutes}${seconds}${fraction.slice(0, 10)}${rfcOffset(offset)}`);
}

function epochInstant(value: number): string | null {
  const ms = Math.floor(value < EPOCH_SECONDS_BELOW ? value * 1000 : value);
  return ms > 0 && ms <= INSTANT_MS_MAX ? instantFromMs(ms) : null;
}

function rfcOffset(offset: string): string {
  if (/^(z|utc)$/i.test(offset)) return 'Z';
  return offset.includes(':') ? offset : `${offset.slice(0, 3)}:${offset.slice(3)}`;
}

/** A value of a text column as text; SQLite accepts any type in any column. */
export function olderText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value);
}

/** Text, or null when the value holds no text. */
export function olderTextOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : olderText(value);
}

/** A number clamped to a range; `fallback` for a value that is not a number. */
export function olderNumber(value: unknown, min: number, max: number, fallback: number): number {
  if (value === null || value === undefined || value === '') return fallback;
  const number = Number(value);
  return Number.isNaN(number) ? fallback : Math.min(max, Math.max(min, number));
}

/** A whole number clamped to a range. */
export function olderInteger(value: unknown, min: number, max: number, fallback: number): number {
  return Math.trunc(olderNumber(value, min, max, fallback));
}

/** The value of a JSON column; undefined when it is not JSON. */
export function olderJson(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  try {
    return JSON.parse(olderText(value));
  } catch {
    return undefined;
  }
}

/** The object in a JSON column; null when there is no object. */
export function olderObject(value: unknown): Record<string, unknown> | null {
  const parsed = olderJson(value);
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  return isObject ? (parsed as Record<string, unknown>) : null;
}
