/** What a token may permit. */
export const TOKEN_OPERATIONS = ['read', 'write', 'admin'] as const;
export type TokenOperation = (typeof TOKEN_OPERATIONS)[number];

/** How long a token counts, in seconds and in words. */
export const LIFETIMES: readonly (readonly [string, string])[] = [
  ['3600', 'an hour'],
  ['86400', 'a day'],
  ['604800', 'a week'],
  ['2592000', '30 days'],
  ['31536000', '365 days'],
];

/** Where a token counts, in words. */
export const whereText = (namespaces: readonly string[]): string =>
  namespaces.length === 0 ? 'nowhere' : namespaces.includes('**') ? 'all namespaces' : namespaces.join(', ');

/** The list with an item in it or out of it, in the order of all. */
export const withItem = <T>(all: readonly T[], chosen: readonly T[], item: T, isIn: boolean): readonly T[] =>
  all.filter((each) => (each === item ? isIn : chosen.includes(each)));
