import { PHRASE_REACH, type QueryPhrase } from './query.js';
import { isStopWord, particleOf } from './stop-words.js';
import type { TextMatch } from './text-match.js';
import { wordUnitsAt } from './tokens.js';

const NEWLINE = 10;
/** Half of a letter outside the basic plane counts as a separator: no function word has such a letter. */
const isWordUnit = (text: string, index: number): boolean => wordUnitsAt(text, index, true) > 0;

/**
 * Finds a query's phrases around the words that were found in a text. Function words are in every text, so they are
 * read only next to a word of the query, up to the end of the line.
 */
export class PhraseMatcher {
  /** For each term: particle to bit, before and after it. */
  readonly #before: (ReadonlyMap<string, number> | undefined)[] = [];
  readonly #after: (ReadonlyMap<string, number> | undefined)[] = [];
  readonly #isEmpty: boolean;

  constructor(phrases: readonly QueryPhrase[]) {
    this.#isEmpty = phrases.length === 0;
    phrases.forEach((phrase, bit) => {
      const side = phrase.before ? this.#before : this.#after;
      side[phrase.term] = new Map([...(side[phrase.term] ?? []), [phrase.particle, bit]]);
    });
  }

  /** The phrases in a text, a bit for each; `match` holds the query terms found in the text. */
  match(text: string, match: TextMatch): number {
    if (this.#isEmpty) return 0;
    let found = 0;
    for (let at = 0; at < match.occurrences; at++) {
      const term = match.terms[at] ?? 0;
      const before = this.#before[term];
      const after = this.#after[term];
      if (before !== undefined) found |= precede(text, match.starts[at] ?? 0, before);
      if (after !== undefined) found |= follow(text, match.ends[at] ?? 0, after);
    }
    return found;
  }
}

function bitOf(word: string, bits: ReadonlyMap<string, number>): number {
  const folded = word.toLowerCase();
  if (!isStopWord(folded)) return 0;
  const bit = bits.get(particleOf(folded));
  return bit === undefined ? 0 : 1 << bit;
}

function precede(text: string, from: number, bits: ReadonlyMap<string, number>): number {
  let found = 0;
  let end = from;
  for (let step = 0; step < PHRASE_REACH; step++) {
    while (end > 0 && !isWordUnit(text, end - 1)) {
      if (text.charCodeAt(end - 1) === NEWLINE) return found;
      end -= 1;
    }
    let start = end;
    while (start > 0 && isWordUnit(text, start - 1)) start -= 1;
    found |= bitOf(text.slice(start, end), bits);
    end = start;
  }
  return found;
}

function follow(text: string, from: number, bits: ReadonlyMap<string, number>): number {
  let found = 0;
  let start = from;
  for (let step = 0; step < PHRASE_REACH; step++) {
    while (start < text.length && !isWordUnit(text, start)) {
      if (text.charCodeAt(start) === NEWLINE) return found;
      start += 1;
    }
    let end = start;
    while (end < text.length && isWordUnit(text, end)) end += 1;
    found |= bitOf(text.slice(start, end), bits);
    start = end;
  }
  return found;
}
