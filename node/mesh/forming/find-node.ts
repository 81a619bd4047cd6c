import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { RosterStatement } from '../../../protocol/peers/roster-statement.js';
import type { Statements } from './roster-file.js';

/**
 * The node that a person means: by its name, its peer id, or the beginning of its peer id, with or without `peer-`.
 * NOT_FOUND, AMBIGUOUS_ID_PREFIX.
 */
export function findNode(known: Statements, word: string): Result<RosterStatement> {
  const statements = [...known.values()].map(({ statement }) => statement);
  const exact = statements.filter(({ peer_id: id, name }) => id === word || name === word.toLowerCase());
  // A name outlives its node: among those that had it, the member has it now.
  const members = exact.filter(({ state }) => state === 'member');
  const starts = statements.filter(({ peer_id: id }) => id.startsWith(word) || id.startsWith(`peer-${word}`));
  const [fitting] = [members, exact, starts].filter((each) => each.length > 0);
  const [first, ...others] = fitting ?? [];
  if (first === undefined)
    return fail('NOT_FOUND', `this mesh has no node ${word}; "mnemesh mesh status" shows its nodes`);
  if (others.length === 0) return ok(first);
  const ids = [first, ...others].map(({ peer_id: id }) => id).join(', ');
  return fail('AMBIGUOUS_ID_PREFIX', `"${word}" fits several nodes: ${ids}`);
}

/** The names of all members. */
export const namesIn = (known: Statements, except: string): ReadonlySet<string> =>
  new Set(
    [...known.values()].flatMap(({ statement: { peer_id: id, name, state } }) =>
      name === undefined || id === except || state === 'departed' ? [] : [name],
    ),
  );
