import { CLOCK_AHEAD_MS_MAX } from '../../protocol/base/limits.js';
import { fail, type Result } from '../../protocol/base/result.js';
import type { ReadCall } from '../pipeline/call.js';

/** Members that date what has happened, in rows of every kind. */
const PAST = [
  'created_at',
  'updated_at',
  'last_accessed_at',
  'added_at',
  'decided_at',
  'read_at',
  'retired_at',
];

/**
 * Refuses an imported row with a date ahead of this node's clock: the row would stand before every later edit. Other
 * clocks may be ahead by as much as those of peers.
 */
export function dateProblem({ nowMs }: ReadCall, row: object): Result<never> | null {
  for (const member of PAST) {
    const date = (row as Readonly<Record<string, unknown>>)[member];
    if (typeof date !== 'string' || !(Date.parse(date) > nowMs + CLOCK_AHEAD_MS_MAX)) continue;
    const message = `${member}: ${date} lies ahead of the clock of this node; correct the date, or the clock`;
    return fail('VALIDATION_FAILED', message, { fields: [member] });
  }
  return null;
}
