/**
 * Words as the full-text index sees them: runs of letters and digits, lower case, without diacritics on Latin
 * letters (the `unicode61 remove_diacritics 2` tokenizer of the schema).
 */

const WIDE_WORD = /^[\p{L}\p{N}\p{Co}]$/u;
const BASE_LETTER = /^[a-z]$/;
/** Longest token that is kept; the index accepts longer ones, but no language needs them. */
const TOKEN_LENGTH_MAX = 128;

/** Whether an ASCII code is a letter or a digit, by code. */
export const ASCII_WORD: Uint8Array = (() => {
  const table = new Uint8Array(128);
  for (let code = 48; code <= 57; code++) table[code] = 1;
  for (let code = 65; code <= 90; code++) table[code] = 1;
  for (let code = 97; code <= 122; code++) table[code] = 1;
  return table;
})();

/** True for a combining mark that stays inside a word: the index drops it and does not split there. */
const isDiacritic = (code: number): boolean => code >= 0x300 && code <= 0x331;

/**
 * How many UTF-16 units of `text` at `index` belong to a word: 0 at a separator, 2 for a letter outside the basic
 * plane.
 */
export function wordUnitsAt(text: string, index: number, inside: boolean): number {
  const unit = text.charCodeAt(index);
  if (unit < 128) return ASCII_WORD[unit] ?? 0;
  if (inside && isDiacritic(unit)) return 1;
  const point = text.codePointAt(index) ?? unit;
  if (!WIDE_WORD.test(String.fromCodePoint(point))) return 0;
  return point > 0xffff ? 2 : 1;
}

/** Lower case, diacritics of Latin letters removed. */
export function foldWord(word: string): string {
  let folded = '';
  for (const letter of word.toLowerCase()) {
    const code = letter.charCodeAt(0);
    if (code < 128) {
      folded += letter;
      continue;
    }
    if (isDiacritic(code)) continue;
    const base = letter.normalize('NFD')[0] ?? letter;
    folded += BASE_LETTER.test(base) ? base : letter;
  }
  return folded;
}

/** The folded words of a text in order, at most `limit` of them. */
export function wordsOf(text: string, limit = Number.POSITIVE_INFINITY): string[] {
  const words: string[] = [];
  let index = 0;
  while (index < text.length && words.length < limit) {
    let units = wordUnitsAt(text, index, false);
    if (units === 0) {
      index += 1;
      continue;
    }
    const start = index;
    while (units > 0 && index < text.length) {
      index += units;
      units = index < text.length ? wordUnitsAt(text, index, true) : 0;
    }
    const word = foldWord(text.slice(start, Math.min(index, start + TOKEN_LENGTH_MAX)));
    if (word.length > 0) words.push(word);
  }
  return words;
}
