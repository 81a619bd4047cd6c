import { wordsOf } from './tokens.js';
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

/**
 * The rules by which texts are indexed. A change of the terms below needs a new number: then every database is indexed
 * again in the background. The rules use no dictionary and no segmenter, so they are the same in every process.
 */
export const TEXT_RULES = 1;

/** Distinct words of one text that get terms; a text with more is not prose. */
const WORDS_MAX = 50_000;

/**
 * What the full-text index stores for a text: the text, followed by the terms that its tokenizer does not find. The text
 * itself where there are none, as in plain English.
 */
export function indexedText(text: string): string {
  const scanner = new WordScanner(text);
  const terms: string[] = [];
  let seen: Set<string> | null = null;
  while (scanner.next()) {
    if (scanner.ascii && !scanner.mixed && !scanner.compound) continue;
    const word = text.slice(scanner.start, scanner.end);
    seen ??= new Set();
    if (seen.size >= WORDS_MAX) break;
    if (seen.has(word)) continue;
    seen.add(word);
    addTerms(terms, word, scanner);
  }
  return terms.length === 0 ? text : `${text}\n${terms.join(' ')}`;
}

function addTerms(terms: string[], word: string, { ascii, mixed, compound }: WordScanner): void {
  const stretches = ascii ? [] : stretchesOf(word);
  for (const stretch of stretches) addStretch(terms, stretch);
  if (stretches.length > 0) return;
  const folded = ascii ? word.toLowerCase() : foldTerm(word);
  if (!ascii) {
    const known = wordsOf(word);
    if (known.length !== 1 || known[0] !== folded) terms.push(indexForm(folded));
    addSpelling(terms, word);
  }
  if (mixed) terms.push(...partsOf(word).filter(isTellingPart));
  if (compound) terms.push(...tailsOf(folded));
}

function addSpelling(terms: string[], word: string): void {
  const written = umlautsWritten(word);
  if (written !== null) terms.push(indexForm(written));
}

/** Grams in the order of the text, so a phrase of grams is a piece of text; the last ones are shorter than a gram. */
function addStretch(terms: string[], { text, gram }: Stretch): void {
  if (gram === 0) {
    terms.push(indexForm(foldTerm(text)), ...partsOf(text).filter(isTellingPart));
    addSpelling(terms, text);
    return;
  }
  const letters = Array.from(text);
  for (let at = 0; at < letters.length; at++) terms.push(indexForm(letters.slice(at, at + gram).join('')));
}

const MARKS = /\p{M}/gu;

/**
 * A folded term as the index holds it. Its tokenizer parts words at marks of letters, so letters for private use stand
 * for them.
 */
export const indexForm = (term: string): string =>
  term.replace(MARKS, (mark) => String.fromCharCode(0xe000 + ((mark.codePointAt(0) ?? 0) & 0xfff)));
