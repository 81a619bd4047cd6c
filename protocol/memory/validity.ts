import type { Instant } from '../base/meanings.js';
import { type Failure, failure } from '../base/result.js';
import type { Memory } from './memory.js';

/** The time in which what a memory says holds. */
export type Validity = Pick<Memory, 'valid_from' | 'valid_until'>;

/** How a memory stands at an instant: it has ended, it has not begun, or it holds. */
export type ValidityState = 'ended' | 'not_begun' | 'valid';

export function validityAt({ valid_from, valid_until }: Validity, at: Instant): ValidityState {
  if (valid_until !== null && valid_until <= at) return 'ended';
  return valid_from !== null && valid_from > at ? 'not_begun' : 'valid';
}

/** What an answer says of a memory that does not hold at an instant. */
export function validityMark(memory: Validity, at: Instant): { readonly validity?: 'ended' | 'not_begun' } {
  const state = validityAt(memory, at);
  return state === 'valid' ? {} : { validity: state };
}

/** So much of its evidence counts for a memory that does not hold. */
export const LAPSED_SHARE = 0.5;

/** Null for a validity that can be stored. One whose end is its beginning holds at no instant. */
export function validityProblem({ valid_from, valid_until }: Validity): Failure | null {
  if (valid_from === null || valid_until === null || valid_from <= valid_until) return null;
  const message = `valid_until (${valid_until}) lies before valid_from (${valid_from})`;
  return failure('VALIDATION_FAILED', message, { fields: ['valid_until'] });
}

/** A memory that another one supersedes from an instant on; null where it has ended by then. */
export function endedBy(memory: Memory, begin: Instant, now: Instant): Memory | null {
  if (memory.valid_until !== null && memory.valid_until <= begin) return null;
  const { valid_from } = memory;
  const valid_until = valid_from !== null && valid_from > begin ? valid_from : begin;
  if (valid_until === memory.valid_until) return null;
  return { ...memory, valid_until, updated_at: now, version: memory.version + 1 };
}

/** The validity of a memory that is stored again under its title: one that has ended begins anew. */
export function validityOfBoth(holder: Validity, incoming: Validity, now: Instant): Validity {
  if (incoming.valid_from !== null || incoming.valid_until !== null) return incoming;
  return validityAt(holder, now) === 'ended' ? { valid_from: now, valid_until: null } : holder;
}
