import { FAMILIES, type Family, familyOf } from './tool-families.js';

/** The families of tools that an MCP session offers, each once, in their own order. */
export type Profile = readonly Family[];

const PROFILES = {
  core: ['core'],
  graph: ['core', 'graph'],
  admin: ['core', 'lifecycle', 'governance'],
  power: ['core', 'power'],
  full: FAMILIES,
} as const satisfies Readonly<Record<string, Profile>>;

/** The words of a profile: names of profiles, and of families that are no profile. */
export const PROFILE_WORDS: readonly string[] = [...new Set<string>([...Object.keys(PROFILES), ...FAMILIES])];

/** Every tool. */
export const FULL_PROFILE: Profile = FAMILIES;

const WORD_SHOWN_MAX = 64;
const VALID = `the profiles are ${Object.keys(PROFILES).join(', ')}, the families ${FAMILIES.join(', ')}`;

const wordsOf = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

const familiesOf = (word: string): readonly Family[] =>
  Object.hasOwn(PROFILES, word) ? PROFILES[word as keyof typeof PROFILES] : [familyOf(word) ?? []].flat();

/** Says which word is neither a profile nor a family, or null. */
export function profileProblem(text: string): string | null {
  const wrong = wordsOf(text).find((word) => familiesOf(word).length === 0);
  if (wrong === undefined) return null;
  const shown = `"${wrong.slice(0, WORD_SHOWN_MAX)}"`;
  return familiesOf(wrong.toLowerCase()).length > 0
    ? `${shown} must be in lower case: ${VALID}`
    : `${shown} is no profile and no family: ${VALID}`;
}

/** The profile that a text without a problem names: `core` always belongs to it, and no word means `core` alone. */
export function profileOf(text: string): Profile {
  const named = new Set<Family>(['core', ...wordsOf(text).flatMap(familiesOf)]);
  return FAMILIES.filter((family) => named.has(family));
}

/** A profile as an operator would write it. */
export const profileName = (profile: Profile): string =>
  profile.length === FAMILIES.length ? 'full' : profile.join(',');
