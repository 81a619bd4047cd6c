import { type InstantMeaning, instantOfDate } from '../node/pipeline/fields.js';
import { instantFromMs } from '../protocol/base/time.js';

const DAY_MS = 86_400_000;

/** Units of a fixed length, by every word for them. */
const LENGTHS = unitsOf({
  's sec secs second seconds': 1000,
  'm min mins minute minutes': 60_000,
  'h hr hrs hour hours': 3_600_000,
  'd day days': DAY_MS,
  'w week weeks': 7 * DAY_MS,
});

/** Units of the calendar, in months. */
const MONTHS = unitsOf({ 'mo month months': 1, 'y year years': 12 });

/** Named days, by their distance from today. */
const DAYS: Readonly<Record<string, number>> = { yesterday: -1, today: 0, tomorrow: 1 };

const SPAN = /^(in )?(an?|\d{1,6}) ?([a-z]+)( ago)?$/;
const DATE_AND_TIME = /^(\d{4}-\d{2}-\d{2})[t ](\d{2}:\d{2})(:\d{2})?$/;

/** What an instant may be besides RFC 3339, as help says it. */
export function spokenForms({ span }: InstantMeaning): string {
  if (span === 'ago') return 'a date, yesterday, 7d, "2 weeks ago"';
  if (span === 'ahead') return 'a date, tomorrow, 7d, "in 2 weeks"';
  return 'a date, yesterday, "7d ago", "in 2 weeks"';
}

/**
 * The instant that people mean by a date, a day or a span, in UTC as all that the program prints; null for other words, and
 * for a span whose direction nobody can know.
 */
export function spokenInstant(typed: string, meaning: InstantMeaning, nowMs: number): string | null {
  const text = typed.trim().toLowerCase().replace(/\s+/g, ' ');
  if (text === 'now') return instantFromMs(nowMs);
  const day = DAYS[text];
  if (day !== undefined && Object.hasOwn(DAYS, text)) {
    const date = written((Math.floor(nowMs / DAY_MS) + day) * DAY_MS)?.slice(0, 'yyyy-mm-dd'.length);
    return date === undefined ? null : instantOfDate(date, meaning);
  }
  const instant = instantOfDate(text, meaning);
  if (instant !== null) return written(utcOf(instant));
  const [, date, minutes, seconds = ':00'] = DATE_AND_TIME.exec(text) ?? [];
  if (date !== undefined) return written(utcOf(`${date}T${minutes}${seconds}.000Z`));
  return spanned(text, meaning, nowMs);
}

function spanned(text: string, meaning: InstantMeaning, nowMs: number): string | null {
  const [, ahead, number, unit, ago] = SPAN.exec(text) ?? [];
  if (number === undefined || (ahead !== undefined && ago !== undefined)) return null;
  const direction = ahead !== undefined ? 'ahead' : ago !== undefined ? 'ago' : meaning.span;
  if (direction === 'either') return null;
  const count = (number.startsWith('a') ? 1 : Number(number)) * (direction === 'ago' ? -1 : 1);
  const length = LENGTHS.get(unit!);
  if (length !== undefined) return written(nowMs + count * length);
  const months = MONTHS.get(unit!);
  return months === undefined ? null : written(monthsFrom(nowMs, count * months));
}

/** So many months later; the last day of the month where that has no such day. */
function monthsFrom(fromMs: number, months: number): number | null {
  const from = new Date(fromMs);
  const first = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months, 1);
  const next = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months + 1, 1);
  const days = Math.round((next - first) / DAY_MS);
  return first + (Math.min(from.getUTCDate(), days) - 1) * DAY_MS + (fromMs % DAY_MS);
}

/** Null for a day that the calendar does not have, which the parser would move into the next month. */
function utcOf(instant: string): number | null {
  const ms = Date.parse(instant);
  return Number.isFinite(ms) && instantFromMs(ms) === instant ? ms : null;
}

const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

const written = (ms: number | null): string | null =>
  ms !== null && ms >= FIRST_MS && ms <= LAST_MS ? instantFromMs(ms) : null;

function unitsOf(words: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(words).flatMap(([names, length]) =>
      names.split(' ').map((name): [string, number] => [name, length]),
    ),
  );
}
