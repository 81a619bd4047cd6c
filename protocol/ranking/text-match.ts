import { stemOf } from './porter.js';
import type { QueryTerm } from './query.js';
import { ASCII_WORD, foldWord, wordUnitsAt } from './tokens.js';

/** Occurrences of query terms that are stored for one text; later ones are only counted. */
const OCCURRENCES_MAX = 512;

/** The positions of a query's terms in one text. Reused between texts: read it before the next `match`. */
export interface TextMatch {
  /** Occurrences for each term. */
  readonly counts: Float64Array;
  /** Words in the text. */
  words: number;
  /** Kept occurrences, in text order: term and word position. */
  occurrences: number;
  readonly terms: Int32Array;
  readonly positions: Int32Array;
  /** Start and end of each stored occurrence in the text, in UTF-16 units. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

const LOWER: Uint8Array = (() => {
  const table = new Uint8Array(128);
  for (let code = 0; code < 128; code++) {
    table[code] = code >= 65 && code <= 90 ? code + 32 : code;
  }
  return table;
})();

/**
 * Finds the words of a query in texts that have no index at hand. It cuts out and stems a word only when its first two
 * letters could lead to a term, so most of a text costs one table look-up for each character.
 */
export class TextMatcher {
  readonly #byStem = new Map<string, number>();
  readonly #byWord = new Map<string, number>();
  readonly #firstLetters = new Uint8Array(128 * 128);
  readonly #match: TextMatch;

  constructor(terms: readonly QueryTerm[]) {
    terms.forEach((term, index) => {
      this.#byStem.set(term.stem, index);
      this.#admit(term.stem);
    });
    this.#match = {
      counts: new Float64Array(terms.length),
      words: 0,
      occurrences: 0,
      terms: new Int32Array(OCCURRENCES_MAX),
      positions: new Int32Array(OCCURRENCES_MAX),
      starts: new Int32Array(OCCURRENCES_MAX),
      ends: new Int32Array(OCCURRENCES_MAX),
    };
  }

  /** Stemming never changes the first letter, and changes the second only in stems of at most two letters. */
  #admit(stem: string): void {
    const first = stem.charCodeAt(0);
    if (first >= 128) return;
    const second = stem.length > 2 ? stem.charCodeAt(1) : 128;
    if (second < 128) this.#firstLetters[first * 128 + second] = 1;
    else this.#firstLetters.fill(1, first * 128, first * 128 + 128);
  }

  #termOf(word: string): number {
    const known = this.#byWord.get(word);
    if (known !== undefined) return known;
    const term = this.#byStem.get(stemOf(word)) ?? -1;
    this.#byWord.set(word, term);
    return term;
  }

  match(text: string): TextMatch {
    const match = this.#match;
    match.counts.fill(0);
    match.words = 0;
    match.occurrences = 0;
    const length = text.length;
    let index = 0;
    while (index < length) {
      const start = index;
      let unit = text.charCodeAt(index);
      let ascii = true;
      if (unit < 128) {
        if (ASCII_WORD[unit] === 0) {
          index += 1;
          continue;
        }
        index += 1;
      } else {
        const units = wordUnitsAt(text, index, false);
        if (units === 0) {
          index += 1;
          continue;
        }
        ascii = false;
        index += units;
      }
      while (index < length) {
        unit = text.charCodeAt(index);
        if (unit < 128) {
          if (ASCII_WORD[unit] === 0) break;
          index += 1;
        } else {
          const units = wordUnitsAt(text, index, true);
          if (units === 0) break;
          ascii = false;
          index += units;
        }
      }
      const position = match.words;
      match.words += 1;
      let word: string;
      if (ascii) {
        const first = LOWER[text.charCodeAt(start)] ?? 0;
        const second = index - start > 1 ? (LOWER[text.charCodeAt(start + 1)] ?? 0) : 0;
        if (this.#firstLetters[first * 128 + second] === 0) continue;
        word = text.slice(start, index).toLowerCase();
      } else {
        word = foldWord(text.slice(start, index));
      }
      const term = this.#termOf(word);
      if (term >= 0) this.#record(match, term, position, start, index);
    }
    return match;
  }

  #record(match: TextMatch, term: number, position: number, start: number, end: number): void {
    match.counts[term] = (match.counts[term] ?? 0) + 1;
    if (match.occurrences >= OCCURRENCES_MAX) return;
    match.terms[match.occurrences] = term;
    match.positions[match.occurrences] = position;
    match.starts[match.occurrences] = start;
    match.ends[match.occurrences] = end;
    match.occurrences += 1;
  }
}
