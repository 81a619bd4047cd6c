import { type Failure, failed, failure, type Result } from '../base/result.js';
import { isWithin, type Within } from '../base/within.js';
import { type AnyCommand, type AnyDeclared, viewerOf } from '../decide/command.js';
import type { Decision } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';

/**
 * Refuses a change outside of the namespaces of the caller's token, whatever its rule says: of what lies elsewhere, and
 * of what would come from or go to elsewhere. A thing of the whole mesh lies in no namespace of a token.
 */
export function guardWithin<T>(
  declared: AnyDeclared,
  command: AnyCommand,
  result: Result<Decision<T>>,
): Result<Decision<T>> {
  const within = viewerOf(declared, command)?.within;
  if (!result.ok || within === undefined) return result;
  const outside = result.value.mutations.flatMap(placesOf).find((place) => !isWithin(place, within));
  return outside === undefined ? result : failed(refusedOutside(outside, within));
}

const refusedOutside = (namespace: string, within: Within) =>
  failure('TOKEN_SCOPE', `the token is for ${within.join(', ')}, not for the namespace "${namespace}"`, {
    allowed_namespaces: within,
  });

/** Why a command is not for the token of its caller: it names a namespace elsewhere, whatever may be there. */
export function withinProblemOf(declared: AnyDeclared, command: AnyCommand): Failure | null {
  const within = viewerOf(declared, command)?.within;
  if (within === undefined) return null;
  const {
    viewer: _viewer,
    filter: _filter,
    ...asked
  } = command as AnyCommand & { readonly filter?: unknown };
  const outside = namedIn(asked).find((place) => !isWithin(place, within));
  return outside === undefined ? null : refusedOutside(outside, within);
}

/** The namespaces that a command says, so that its own failure does not tell what is in them. */
function namedIn(value: object, depth = 3): readonly string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    // What a caller says of a memory there is of no account.
    if (name === 'metadata') return [];
    if (typeof member === 'string') return /namespace$/i.test(name) ? [member] : [];
    return depth > 0 && typeof member === 'object' && member !== null ? namedIn(member, depth - 1) : [];
  });
}

/** The namespaces in which a change that replicates happens. */
function placesOf(mutation: Mutation): readonly string[] {
  if (mutation.mutation !== 'write' && mutation.mutation !== 'remove') return [];
  const rows = [mutation.before, mutation.mutation === 'write' ? mutation.image : null];
  const named = rows.map((row) => (row as { readonly namespace?: unknown } | null)?.namespace);
  return [mutation.namespace, ...named.filter((name): name is string => typeof name === 'string')];
}
