import { isDeepStrictEqual } from 'node:util';
import type { KindFacts } from './kind-facts.js';
import {
  covered,
  type Json,
  joinOf,
  latestOf,
  payloadOf,
  standingOf,
  type Told,
  type Vector,
} from './told.js';

/**
 * What the operations of one subject mean, written from the design (docs/architecture.md, docs/decisions/replication.md)
 * without the product's own merge, so that a wrong merge cannot agree with itself. It is slow and simple: all operations
 * are looked at together, whatever order they came in.
 */
export interface Meaning {
  /** The members of its row; null when there is to be none. */
  readonly image: Json | null;
  /** Why there is none; null for a row. */
  readonly removal: Removal | null;
  readonly namespace: string;
  readonly latest: Told;
  readonly seen: Vector;
  /** The versions that none of the others has seen. */
  readonly versions: readonly Told[];
}

/** What a removal says. */
export interface Removal {
  /** The version that removes. */
  readonly by: Told;
  readonly word: string;
  readonly reason: unknown;
  /** What it says besides the subject and the reason. */
  readonly facts: Json;
}

/** True for a version in which the subject is gone; one that is away is as good as deleted. */
export const isRemoval = ({ drops }: KindFacts, one: Told): boolean => one.away || drops.includes(one.word);

/** A text without a later member and one in which it holds its default are the same. */
function withMembers(kind: KindFacts, members: Json, said: Json): Json {
  const later: Json = kind.home ? { ...kind.later, home_number: 0 } : kind.later;
  const all = Object.entries({ ...members, ...said });
  return Object.fromEntries(
    all.filter(([member, value]) => !(member in later && isDeepStrictEqual(later[member], value))),
  );
}

/** The image in a version. */
export const imageOf = (kind: KindFacts, one: Told): Json => withMembers(kind, kind.image, payloadOf(one));

/** The copy of the row that a removal gives to every archive. */
export function copyOf(kind: KindFacts, one: Told): Json | null {
  const was = one.away ? undefined : (payloadOf(one)['was'] as Json | undefined);
  return was === undefined ? null : withMembers(kind, kind.image, was);
}

/** What a removal says. */
export function removalOf(kind: KindFacts, one: Told): Removal {
  if (one.away) return { by: one, word: kind.drops[0]!, reason: 'elsewhere', facts: kind.removal };
  const { id: _id, namespace: _namespace, reason, was: _was, ...facts } = payloadOf(one);
  return { by: one, word: one.word, reason, facts: withMembers(kind, kind.removal, facts) };
}

/** The number of the home that wrote a version. */
function homeNumber(kind: KindFacts, one: Told): number {
  const { home_number: number } = isRemoval(kind, one) ? removalOf(kind, one).facts : imageOf(kind, one);
  return typeof number === 'number' ? number : 0;
}

/** What all maximal versions say together. */
export const standing = (versions: readonly Told[]): Pick<Meaning, 'latest' | 'seen' | 'versions'> => ({
  latest: latestOf(versions),
  seen: joinOf(versions.map(covered)),
  versions,
});

const JOINS: Readonly<Record<KindFacts['joins'][string], (values: readonly unknown[]) => unknown>> = {
  union: (values) => [...new Set((values as string[][]).flat())].sort(),
  greatest: (values) => Math.max(...(values as number[])),
  'earliest known': (values) =>
    values
      .filter((value) => value !== null)
      .map(String)
      .sort()[0] ?? null,
  'latest or never': (values) => (values.includes(null) ? null : values.map(String).sort().at(-1)),
};

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

/**
 * Of the maximal versions of the latest home, if the kind has homes, the latest in which the subject lives stands, whole
 * but for joined members. A removal ends what it has seen, which is therefore not maximal; it stands when no version
 * lives beside it. A version with the member that prevails stands before those without it.
 */
export function plainMeaning(kind: KindFacts, operations: readonly Told[]): Meaning {
  const versions = standingOf(operations);
  const number = kind.home ? Math.max(...versions.map((one) => homeNumber(kind, one))) : 0;
  const judged = kind.home ? versions.filter((one) => homeNumber(kind, one) === number) : versions;
  const living = judged.filter((one) => !isRemoval(kind, one));
  const last = latestOf(living.length > 0 ? living : judged);
  const stands = { ...standing(versions), namespace: last.namespace };
  if (living.length === 0) return { ...stands, image: null, removal: removalOf(kind, last) };
  const first =
    kind.prevails === null ? [] : living.filter((one) => isSet(imageOf(kind, one)[kind.prevails!]));
  const stated = first.length > 0 ? latestOf(first) : last;
  const image: Record<string, unknown> = { ...imageOf(kind, stated) };
  for (const [member, join] of living.length > 1 ? Object.entries(kind.joins) : [])
    image[member] = JOINS[join](living.map((one) => imageOf(kind, one)[member]));
  return { ...stands, image, removal: null };
}
