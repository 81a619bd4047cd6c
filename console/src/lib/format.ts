/** A point in time as people read it, in their own zone; the text itself where it is none. */
export function timeText(instant: string | null | undefined): string {
  if (instant === null || instant === undefined || instant === '') return '–';
  const ms = Date.parse(instant);
  if (Number.isNaN(ms)) return instant;
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}`
  );
}

const STEPS: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
];

/** How long ago an instant was, or how far ahead it is, in its largest unit. */
export function agoText(instant: string | null | undefined, nowMs: number): string {
  const ms = Date.parse(instant ?? '');
  if (Number.isNaN(ms)) return '–';
  const apart = Math.abs(nowMs - ms);
  const [size, unit] = STEPS.find(([step]) => apart >= step) ?? [1000, 's'];
  const amount = `${Math.floor(apart / size)} ${unit}`;
  return ms > nowMs ? `in ${amount}` : `${amount} ago`;
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** The instant that a field of date and time holds, in UTC; null where it is empty or none. */
export function instantOf(local: string): string | null {
  const ms = Date.parse(local);
  return local === '' || Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** An instant as a field of date and time holds it, in the zone of the reader and to the minute; empty for none. */
export const fieldTimeOf = (instant: string | null | undefined): string =>
  instant === null || instant === undefined || Number.isNaN(Date.parse(instant))
    ? ''
    : timeText(instant).replace(' ', 'T');

/** A value as text for people: JSON for what is no text. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Words that commas or spaces separate. */
export const wordsOf = (text: string): readonly string[] =>
  text
    .split(/[\s,]+/)
    .map((word) => word.trim())
    .filter((word) => word !== '');
