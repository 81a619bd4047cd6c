import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { flagValue } from '../global-flags.js';

/** The whole number that a flag gives, brought into its bounds; VALIDATION_FAILED for other text. */
export function numberFlag(
  parsed: ParsedArguments,
  name: string,
  { usual, min, max }: { readonly usual: number; readonly min: number; readonly max: number },
): Result<number> {
  const text = flagValue(parsed, name);
  if (text === undefined) return ok(usual);
  if (!/^-?\d{1,9}$/.test(text)) {
    return fail('VALIDATION_FAILED', `--${name} must be a whole number`, {
      fields: [name.replaceAll('-', '_')],
    });
  }
  return ok(Math.min(Math.max(Number(text), min), max));
}
