import { stemOf } from './porter.js';
import { isStopWord, particleOf } from './stop-words.js';
import { wordsOf } from './tokens.js';

/** Only this many words of a query are read; later words can only repeat its subject. */
const QUERY_WORDS_MAX = 512;
/** Distinct words that are looked up in the index. */
export const QUERY_TERMS_MAX = 32;
/** A function word belongs to a word at most this many positions away. */
export const PHRASE_REACH = 2;
/** Phrases that are searched for; a bit each. */
export const QUERY_PHRASES_MAX = 31;

/** A word of a query. */
export interface QueryTerm {
  /** Folded, as written; the index is searched for it. */
  readonly word: string;
  readonly stem: string;
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

/**
 * Reads a query. Nothing in it is syntax: operators, quotes and column names are words like others. Stop-words are
 * dropped unless the query has nothing else.
 */
export function analyseQuery(query: string): QueryAnalysis {
  const words = wordsOf(query, QUERY_WORDS_MAX);
  const content = words.filter((word, index) => !isStopWord(word) || isMonth(words, index));
  const onlyStopWords = content.length === 0 && words.length > 0;
  const kept = onlyStopWords ? words : content;
  const indexOf = new Map<string, number>();
  const terms: { word: string; stem: string; count: number }[] = [];
  const pairs: [number, number][] = [];
  let previous = -1;
  for (const word of kept) {
    const stem = stemOf(word);
    let index = indexOf.get(stem);
    if (index === undefined) {
      if (terms.length >= QUERY_TERMS_MAX) continue;
      index = terms.length;
      indexOf.set(stem, index);
      terms.push({ word, stem, count: 0 });
    }
    const term = terms[index];
    if (term !== undefined) term.count += 1;
    if (previous >= 0 && previous !== index) pairs.push([previous, index]);
    previous = index;
  }
  const phrases = onlyStopWords ? [] : phrasesOf(words, indexOf);
  return { terms, pairs, phrases, onlyStopWords };
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

/** A word as an FTS5 string: the index reads it as text, whatever it contains. */
export const quoted = (word: string): string => `"${word.replaceAll('"', '""')}"`;
