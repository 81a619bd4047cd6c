import { systemClock } from '../node/seams.js';
import { fail, ok, type Result } from '../protocol/base/result.js';
import { canonicalInstant } from '../protocol/base/time.js';
import type { ParsedArguments } from './arguments.js';
import { flagValue } from './global-flags.js';
import { spokenForms, spokenInstant } from './spoken-instant.js';

const MEANINGS = {
  begin: { span: 'ago', day: 'begin', dates: true },
  end: { span: 'ago', day: 'end', dates: true },
} as const;

/** The past instant that a flag names; null where it is absent. VALIDATION_FAILED for words that are none. */
export function instantFlag(
  parsed: ParsedArguments,
  name: string,
  day: 'begin' | 'end' = 'begin',
): Result<string | null> {
  const typed = flagValue(parsed, name);
  if (typed === undefined) return ok(null);
  const instant = canonicalInstant(typed) ?? spokenInstant(typed, MEANINGS[day], systemClock.nowMs());
  if (instant !== null) return ok(instant);
  const message = `--${name} must be an RFC 3339 instant, ${spokenForms(MEANINGS[day])}`;
  return fail('VALIDATION_FAILED', message, { fields: [name] });
}
