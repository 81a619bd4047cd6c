import type { KindFacts } from './kind-facts.js';
import { type Meaning, plainMeaning } from './meaning.js';
import { memoryMeaning } from './memory-meaning.js';
import { type Told, Undecided, Unreadable } from './told.js';

/**
 * What operations on one subject, one at least, mean; throws `Unreadable` when what counts has no payload, and
 * `Undecided`.
 */
export const meaningOf = (kind: KindFacts, operations: readonly Told[]): Meaning =>
  (kind.rows === 'memories' ? memoryMeaning : plainMeaning)(kind, operations);

/** Null when what counted then has no payload any more, because superseded ones are let go, and when it is undecided. */
export function meaningOrNull(kind: KindFacts, operations: readonly Told[]): Meaning | null {
  try {
    return meaningOf(kind, operations);
  } catch (error) {
    if (error instanceof Unreadable || error instanceof Undecided) return null;
    throw error;
  }
}
