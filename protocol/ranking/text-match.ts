import { stemOf } from './porter.js';
import type { QueryTerm } from './query.js';
import {
  foldTerm,
  isTellingPart,
  partsOf,
  type Stretch,
  stretchesOf,
  tailsOf,
  umlautsWritten,
  WordScanner,
} from './words.js';

/** Occurrences of query terms that are stored for one text; later ones are only counted. */
const OCCURRENCES_MAX = 512;
/** A shorter word is no beginning of a compound. */
const HEAD_STEM_MIN = 5;
/** What a term counts that is only a part of a word of the text. */
const PART_COUNT = 0.5;
/** Longer words are hardly ever in two rows. */
const REMEMBERED_LETTERS_MAX = 40;

/** The positions of a query's terms in one text. Reused between texts: read it before the next `match`. */
export interface TextMatch {
  /** Occurrences for each term. */
  readonly counts: Float64Array;
  /** Words in the text; each letter of a script without spaces counts as one. */
  words: number;
  /** Kept occurrences, in text order: term and word position. */
  occurrences: number;
  readonly terms: Int32Array;
  readonly positions: Int32Array;
  /** Start and end of each stored occurrence in the text, in UTF-16 units. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** A term of the query in a word of a text; `count` is below 1 where it is only a part of that word. */
interface Hit {
  readonly term: number;
  readonly count: number;
}

/** True for a term that also stands for the longer words that begin with it: `datenschutz`. */
export const isHead = ({ form, stem }: QueryTerm): boolean =>
  form === 'word' && stem.length >= HEAD_STEM_MIN && !/\d/.test(stem);

const NO_HITS: readonly Hit[] = [];

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
  /** Stems that may begin a compound. */
  readonly #heads: (readonly [string, number])[] = [];
  readonly #byGram = new Map<string, number>();
  readonly #byStart = new Map<string, number>();
  readonly #byWord = new Map<string, readonly Hit[]>();
  readonly #firstLetters = new Uint8Array(128 * 128);
  readonly #match: TextMatch;

  constructor(terms: readonly QueryTerm[]) {
    for (const [index, term] of terms.entries()) this.#addTerm(term, index);
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

  #addTerm(term: QueryTerm, index: number): void {
    const { form, word, stem, also } = term;
    if (form === 'gram') this.#byGram.set(word, index);
    if (form === 'start') this.#byStart.set(word, index);
    if (form !== 'word') return;
    for (const spelling of [stem, ...also.map(stemOf)]) {
      if (!this.#byStem.has(spelling)) this.#byStem.set(spelling, index);
      this.#admit(spelling);
    }
    if (isHead(term)) this.#heads.push([stem, index]);
  }

  /** Stemming never changes the first letter, and changes the second only in stems of at most two letters. */
  #admit(stem: string): void {
    const first = stem.charCodeAt(0);
    if (first >= 128) return;
    const second = stem.length > 2 ? stem.charCodeAt(1) : 128;
    if (second < 128) this.#firstLetters[first * 128 + second] = 1;
    else this.#firstLetters.fill(1, first * 128, first * 128 + 128);
  }

  match(text: string): TextMatch {
    const match = this.#match;
    match.counts.fill(0);
    match.words = 0;
    match.occurrences = 0;
    const scanner = new WordScanner(text);
    while (scanner.next()) {
      const { start, end, ascii, mixed, compound } = scanner;
      if (ascii && !mixed && !compound) {
        const first = LOWER[text.charCodeAt(start)] ?? 0;
        const second = end - start > 1 ? (LOWER[text.charCodeAt(start + 1)] ?? 0) : 0;
        if (this.#firstLetters[first * 128 + second] === 1) {
          this.#record(this.#hitsOf(text.slice(start, end).toLowerCase(), scanner), start, end);
        }
        match.words += 1;
      } else this.#matchOther(text.slice(start, end), scanner);
    }
    return match;
  }

  /** A word with letters other than ASCII, or with parts. */
  #matchOther(word: string, scanner: WordScanner): void {
    const { start, end, ascii } = scanner;
    const stretches = ascii ? [] : stretchesOf(word);
    if (stretches.length === 0) {
      this.#record(this.#hitsOf(word, scanner), start, end);
      this.#match.words += 1;
      return;
    }
    for (const stretch of stretches) {
      if (stretch.gram > 0) this.#matchGrams(stretch, start, end);
      else {
        this.#record(this.#wordHits(stretch.text, foldTerm(stretch.text), true), start, end);
        this.#match.words += 1;
      }
    }
  }

  #matchGrams({ text, gram }: Stretch, start: number, end: number): void {
    const letters = Array.from(text);
    if (this.#byGram.size > 0 || this.#byStart.size > 0) {
      for (let at = 0; at < letters.length; at++) {
        const found = this.#byGram.get(letters.slice(at, at + gram).join(''));
        if (found !== undefined) this.#recordAt(found, 1, this.#match.words + at, start, end);
        for (let size = 1; size < gram && this.#byStart.size > 0; size++) {
          const begun = this.#byStart.get(letters.slice(at, at + size).join(''));
          if (begun !== undefined) this.#recordAt(begun, 1, this.#match.words + at, start, end);
        }
      }
    }
    this.#match.words += letters.length;
  }

  #hitsOf(word: string, { ascii, mixed, compound }: WordScanner): readonly Hit[] {
    const known = this.#byWord.get(word);
    if (known !== undefined) return known;
    const folded = ascii ? word.toLowerCase() : foldTerm(word);
    const hits = this.#wordHits(word, folded, mixed, compound);
    if (word.length <= REMEMBERED_LETTERS_MAX) this.#byWord.set(word, hits);
    return hits;
  }

  #wordHits(word: string, folded: string, mixed = false, compound = false): readonly Hit[] {
    const written = umlautsWritten(word);
    const whole = this.#exact(folded) ?? this.#exact(written);
    const hits: Hit[] = whole === undefined ? [] : [{ term: whole, count: 1 }];
    const addPart = (term: number | undefined): void => {
      if (term !== undefined && !hits.some((hit) => hit.term === term))
        hits.push({ term, count: PART_COUNT });
    };
    const find = (part: string | null): void => addPart(this.#exact(part) ?? this.#headOf(part));
    if (mixed) for (const part of partsOf(word)) if (isTellingPart(part)) find(part);
    if (compound) for (const tail of tailsOf(folded)) find(tail);
    if (whole === undefined) addPart(this.#headOf(folded) ?? this.#headOf(written));
    return hits.length === 0 ? NO_HITS : hits;
  }

  #exact(word: string | null): number | undefined {
    return word === null ? undefined : this.#byStem.get(stemOf(word));
  }

  /** The term that begins a longer word: `datenschutz` of `datenschutzbeauftragte`. */
  #headOf(word: string | null): number | undefined {
    if (word === null || this.#heads.length === 0) return undefined;
    const own = stemOf(word);
    return this.#heads.find(([stem]) => own.startsWith(stem))?.[1];
  }

  #record(hits: readonly Hit[], start: number, end: number): void {
    for (const { term, count } of hits) this.#recordAt(term, count, this.#match.words, start, end);
  }

  #recordAt(term: number, count: number, position: number, start: number, end: number): void {
    const match = this.#match;
    match.counts[term] = (match.counts[term] ?? 0) + count;
    if (match.occurrences >= OCCURRENCES_MAX) return;
    match.terms[match.occurrences] = term;
    match.positions[match.occurrences] = position;
    match.starts[match.occurrences] = start;
    match.ends[match.occurrences] = end;
    match.occurrences += 1;
  }
}
