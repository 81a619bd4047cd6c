import { indexForm } from './index-text.js';
import { stemOf } from './porter.js';
import { quoted } from './quoted.js';
import { gramShare, isStopGram } from './stop-grams.js';
import { isStopWord, particleOf } from './stop-words.js';
import { otherForms } from './word-forms.js';
import { foldTerm, partsOf, stretchesOf, umlautsWritten, WordScanner } from './words.js';

/** Only this many words of a query are read; later words can only repeat its subject. */
const QUERY_WORDS_MAX = 512;
/** Letters of a word of a query that are read. */
const WORD_LETTERS_MAX = 128;
/** Distinct words that are looked up in the index. */
export const QUERY_TERMS_MAX = 32;
/** A function word belongs to a word at most this many positions away. */
export const PHRASE_REACH = 2;
/** Phrases that are searched for; a bit each. */
export const QUERY_PHRASES_MAX = 31;
/** The weight of a part of an identifier, as a share of a word's. */
const PART_SHARE = 0.5;

/**
 * How a term stands in texts: as a `word`; as a `gram`, some letters of a script without spaces; as the `start` of
 * grams, where the query has fewer letters than a gram.
 */
export type TermForm = 'word' | 'gram' | 'start';

/** A word of a query, or a piece of one. */
export interface QueryTerm {
  /** Folded, as written; the index is searched for it. */
  readonly word: string;
  readonly stem: string;
  /** Other spellings and forms of the same word. */
  readonly also: readonly string[];
  readonly form: TermForm;
  /** Its weight as a share of a word's. */
  readonly share: number;
  /** True when a search wants it: it is no part of another term and no function word. */
  readonly required: boolean;
  /** The parts of an identifier, in order; empty for other words. */
  readonly parts: readonly string[];
  /** True for a name or number: it begins with a capital inside a sentence, or has a digit. */
  readonly name: boolean;
  /** How often the query contains it. */
  readonly count: number;
}

/** A term and a function word at most `PHRASE_REACH` words away: `her dad`, `looking for`, `used to paint`. */
export interface QueryPhrase {
  /** Index into `terms`. */
  readonly term: number;
  /** The result of `particleOf` for the function word. */
  readonly particle: string;
  /** Whether the function word precedes the term. */
  readonly before: boolean;
}

/** The terms, pairs and phrases of a query. */
export interface QueryAnalysis {
  /** Distinct by stem, in order of first appearance; empty when the query contains no word. */
  readonly terms: readonly QueryTerm[];
  /** Pairs of terms that follow each other in the query, without the stop-words between them; indexes into `terms`. */
  readonly pairs: readonly (readonly [number, number])[];
  /** Terms next to a function word, distinct; empty when the terms are stop-words themselves. */
  readonly phrases: readonly QueryPhrase[];
  /** Whether the terms are stop-words, because the query has no other words. */
  readonly onlyStopWords: boolean;
}

/** A term of one word of the query. */
type Piece = Omit<QueryTerm, 'stem' | 'count'> & {
  readonly stop: boolean;
  /** True for a piece that adds nothing to the order of words: a part of an identifier. */
  readonly aside: boolean;
};

type Unnamed = Omit<Piece, 'name'>;

/** A word of the query with its terms. */
interface QueryWord {
  readonly word: string;
  readonly pieces: readonly Piece[];
}

/**
 * Reads a query. Nothing in it is syntax: operators, quotes and column names are words like others. Stop-words are
 * dropped unless the query has nothing else.
 */
export function analyseQuery(query: string): QueryAnalysis {
  const words = queryWords(query);
  const spoken = words.map(({ word }) => word);
  const all = words.flatMap(({ pieces }, at) =>
    pieces.map((piece) => (piece.stop && isMonth(spoken, at) ? { ...piece, stop: false } : piece)),
  );
  const content = all.filter(({ stop }) => !stop);
  const onlyStopWords = content.length === 0 && all.length > 0;
  const kept = onlyStopWords ? all.map((piece) => ({ ...piece, required: !piece.aside })) : content;
  const anyRequired = kept.some(({ required }) => required);
  const indexOf = new Map<string, number>();
  const terms: (QueryTerm & { count: number })[] = [];
  const pairs: [number, number][] = [];
  let previous = -1;
  for (const { stop: _stop, aside, ...piece } of kept) {
    const stem = piece.form === 'word' ? stemOf(piece.word) : piece.word;
    let index = indexOf.get(stem);
    if (index === undefined) {
      if (terms.length >= QUERY_TERMS_MAX) continue;
      index = terms.length;
      indexOf.set(stem, index);
      terms.push({ ...piece, stem, required: piece.required || !anyRequired, count: 0 });
    }
    const term = terms[index]!;
    // A part of an identifier may also be a word of the query.
    terms[index] = {
      ...term,
      share: Math.max(term.share, piece.share),
      required: term.required || piece.required,
      name: term.name || piece.name,
      count: term.count + 1,
    };
    if (aside) continue;
    if (previous >= 0 && previous !== index) pairs.push([previous, index]);
    previous = index;
  }
  const phrases = onlyStopWords ? [] : phrasesOf(spoken, indexOf);
  return { terms, pairs, phrases, onlyStopWords };
}

function queryWords(query: string): QueryWord[] {
  const words: QueryWord[] = [];
  const scanner = new WordScanner(query);
  while (words.length < QUERY_WORDS_MAX && scanner.next()) {
    const end = Math.min(scanner.end, scanner.start + WORD_LETTERS_MAX);
    const raw = query.slice(scanner.start, end);
    const word = foldTerm(raw);
    if (word.length === 0) continue;
    const name = isName(raw, query.slice(0, scanner.start));
    words.push({ word, pieces: piecesOf(raw, word, scanner).map((piece) => ({ ...piece, name })) });
  }
  return words;
}

const CAPITAL = /^\p{Lu}/u;
const SENTENCE_START = /(?:^|[.?!:\n])\s*[^\s\p{L}\p{N}]*$/u;

/** A word at the beginning of a sentence has a capital in any case. */
const isName = (raw: string, before: string): boolean =>
  /\p{N}/u.test(raw) || (CAPITAL.test(raw) && !SENTENCE_START.test(before.slice(-8)));

function piecesOf(raw: string, word: string, { ascii, mixed }: WordScanner): readonly Unnamed[] {
  const stretches = ascii ? [] : stretchesOf(raw);
  if (stretches.length === 0) return wordPieces(raw, word, mixed);
  return stretches.flatMap(({ text, gram }) =>
    gram === 0 ? wordPieces(text, foldTerm(text), true) : gramPieces(Array.from(text), gram),
  );
}

function wordPieces(raw: string, word: string, mixed: boolean): Unnamed[] {
  const parts = mixed ? partsOf(raw) : [];
  const whole: Unnamed = {
    word,
    also: alsoOf(raw, word),
    form: 'word',
    share: 1,
    required: true,
    parts,
    stop: isStopWord(word),
    aside: false,
  };
  const others = parts
    // A single digit is in too many texts.
    .filter((part) => part.length > 1 && !isStopWord(part))
    .map(
      (part): Unnamed => ({
        ...whole,
        word: part,
        also: [],
        share: PART_SHARE,
        required: false,
        parts: [],
        stop: false,
        aside: true,
      }),
    );
  return [whole, ...others];
}

function alsoOf(raw: string, word: string): readonly string[] {
  const written = umlautsWritten(raw);
  return written === null ? otherForms(word) : [written];
}

function gramPieces(letters: readonly string[], size: number): Unnamed[] {
  const piece = { also: [], parts: [], aside: false };
  if (letters.length < size) {
    const word = letters.join('');
    return [{ ...piece, word, form: 'start', share: 1, required: true, stop: isStopGram(word, true) }];
  }
  return letters.slice(size - 1).map((_letter, at): Unnamed => {
    const word = letters.slice(at, at + size).join('');
    const share = gramShare(word, at + size === letters.length && letters.length > size);
    return {
      ...piece,
      word,
      form: 'gram',
      share,
      required: share >= PART_SHARE,
      stop: isStopGram(word, false),
    };
  });
}

function phrasesOf(words: readonly string[], indexOf: ReadonlyMap<string, number>): QueryPhrase[] {
  const phrases = new Map<string, QueryPhrase>();
  words.forEach((word, at) => {
    const term = isStopWord(word) ? undefined : indexOf.get(stemOf(word));
    if (term === undefined) return;
    for (let distance = -PHRASE_REACH; distance <= PHRASE_REACH; distance++) {
      const neighbour = words[at + distance];
      if (neighbour === undefined || !isStopWord(neighbour) || phrases.size >= QUERY_PHRASES_MAX) continue;
      const phrase = { term, particle: particleOf(neighbour), before: distance < 0 };
      phrases.set(`${term} ${phrase.particle} ${phrase.before}`, phrase);
    }
  });
  return [...phrases.values()];
}

/** May, the month: next to a number. */
function isMonth(words: readonly string[], index: number): boolean {
  if (words[index] !== 'may') return false;
  return [words[index - 1], words[index + 1]].some(
    (word) => word !== undefined && /^\d+(st|nd|rd|th)?$/.test(word),
  );
}

/** Only a word that could be a namespace term needs `{title content tags}`. */
const NAMESPACE_TERM = /^n\d+$/;

/** A word as an expression over the texts of a row. */
export const wordExpression = (word: string): string => {
  const expression = quoted(indexForm(word));
  return NAMESPACE_TERM.test(word) ? `{title content tags} : ${expression}` : expression;
};

/** A term as an expression over the texts of a row: each way in which texts hold it. */
export function termExpression({ word, also, form, parts }: QueryTerm): string {
  if (form === 'start') return `${wordExpression(word)} *`;
  const ways = [word, ...also].map(wordExpression);
  // As in `parse_user_token`.
  if (parts.length > 0) ways.push(quoted(parts.map(indexForm).join(' ')));
  return anyOf(ways);
}

/** An expression that matches the rows matched by any part. */
export const anyOf = (ways: readonly string[]): string =>
  ways.length === 1 ? (ways[0] ?? '') : `(${ways.join(' OR ')})`;

/**
 * The rows that hold any word of a pattern as it is written; null for a pattern without a word. Parts of words do not
 * count, because such rows are forgotten.
 */
export function patternExpression(pattern: string): string | null {
  const words = queryWords(pattern);
  const telling = words.filter(({ pieces }) => pieces.some(({ stop }) => !stop));
  const ways = (telling.length > 0 ? telling : words).map(({ pieces }) => wholeExpression(pieces));
  return ways.length === 0 ? null : anyOf(ways);
}

/** The pieces of one word together: words of scripts without spaces as a phrase of their grams. */
function wholeExpression(pieces: readonly Piece[]): string {
  const grams = pieces.filter(({ form }) => form === 'gram').map(({ word }) => indexForm(word));
  const others = pieces.filter(({ form, aside }) => form !== 'gram' && !aside);
  const parts = others.map((piece) => termExpression({ ...piece, parts: [], stem: '', count: 1 }));
  if (grams.length > 0) parts.push(quoted(grams.join(' ')));
  return parts.length === 1 ? (parts[0] ?? '') : `(${parts.join(' AND ')})`;
}
