import type { Kind } from '../../protocol/kinds/kind.js';
import { isObject } from '../../protocol/kinds/payload.js';

type Row = Readonly<Record<string, unknown>>;

/**
 * An imported row whose `rest` holds only members that this release does not know. Members that this release knows move
 * to the others, and members that only the service sets are left out. Rows of other releases' pushes have no `rest`.
 */
export function withKnownMembers(
  row: Row,
  { payload }: Pick<Kind, 'payload'>,
  importable: { readonly input: { readonly shape: object } },
  unknownFields: 'refuse' | 'ignore',
): Row {
  const { rest, ...given } = row;
  if (unknownFields === 'ignore') return given;
  if (!isObject(rest)) return row;
  const isKnown = ([key]: readonly [string, unknown]) => payload.keys.includes(key);
  const learned = Object.entries(rest).filter(
    ([key, value]) =>
      isKnown([key, value]) &&
      value !== null &&
      Object.hasOwn(importable.input.shape, key) &&
      !Object.hasOwn(given, key),
  );
  const unknown = Object.entries(rest).filter((entry) => !isKnown(entry));
  return { ...given, ...Object.fromEntries(learned), rest: Object.fromEntries(unknown) };
}
