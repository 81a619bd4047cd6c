import type { Instant } from './meanings.js';

// Date, fraction and offset in the form of RFC 3339 §5.6; the offset is required.
const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

const DAYS_IN_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** An instant as canonical UTC text, `YYYY-MM-DDTHH:MM:SS.sssZ`: text order is time order. */
export function instantFromMs(ms: number): Instant {
  return new Date(ms).toISOString();
}

/**
 * Milliseconds since the epoch of an RFC 3339 date-time. Null for any other text (such as a missing offset, the 31st of
 * April, or a year before 1 or after 9999 in UTC). Digits beyond milliseconds are cut.
 */
export function parseRfc3339Ms(text: string): number | null {
  const match = RFC3339.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second] = match.map(Number) as unknown as number[];
  if (month! < 1 || month! > 12 || day! < 1 || day! > DAYS_IN_MONTH[month! - 1]!) return null;
  if (month === 2 && day === 29 && new Date(Date.UTC(year!, 1, 29)).getUTCDate() !== 29) return null;
  if (hour! > 23 || minute! > 59 || second! > 60) return null;
  const offset = match[8]!.toUpperCase();
  if (offset !== 'Z' && (Number(offset.slice(1, 3)) > 23 || Number(offset.slice(4)) > 59)) return null;
  const fraction = match[7] === undefined ? '' : match[7].slice(0, 4);
  // A leap second counts as the last second of its minute, because the JavaScript calendar has no leap seconds.
  const seconds = second === 60 ? '59' : match[6];
  const ms = Date.parse(
    `${match[1]}-${match[2]}-${match[3]}T${match[4]}:${match[5]}:${seconds}${fraction}${offset}`,
  );
  if (!Number.isFinite(ms)) return null;
  const utcYear = new Date(ms).getUTCFullYear();
  return utcYear >= 1 && utcYear <= 9999 ? ms : null;
}

/** The canonical form of an RFC 3339 date-time; null for any other text. */
export function canonicalInstant(text: string): string | null {
  const ms = parseRfc3339Ms(text);
  return ms === null ? null : instantFromMs(ms);
}

const AGE_UNITS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };

/** Seconds of an age such as `30m`, `24h` or `7d`; null for any other text, and for more than a hundred years. */
export function ageSeconds(text: string): number | null {
  const match = /^(\d{1,8})([mhd])$/.exec(text.trim());
  if (match === null) return null;
  const seconds = Number(match[1]) * AGE_UNITS[match[2]!]!;
  return seconds > 0 && seconds <= 100 * 366 * 86_400 ? seconds : null;
}

/** The canonical instant that lies `seconds` after `from` (canonical). */
export function instantAfter(from: string, seconds: number): string {
  return instantFromMs(Date.parse(from) + seconds * 1000);
}
