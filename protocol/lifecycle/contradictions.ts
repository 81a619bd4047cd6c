import {
  CONTRADICTION_COMPARISONS_MAX,
  CONTRADICTION_PAIRS_MAX,
  POTENTIAL_CONTRADICTIONS_MAX,
  SIMILAR_TITLE_SHARE_MIN,
} from '../base/limits.js';
import type { Memory } from '../memory/memory.js';
import { stemOf } from '../ranking/porter.js';
import { isStopWord } from '../ranking/stop-words.js';
import { wordsOf } from '../ranking/tokens.js';
import type { ContradictionLink } from './queries.js';

/** Only this many words of a title are read. */
const TITLE_WORDS_MAX = 64;
/** Titles that share this part of their words have the same subject. */
const SIMILAR_MIN = 0.6;

interface Subject {
  readonly memory: Memory;
  readonly text: string;
  readonly topic: string | null;
  readonly words: ReadonlySet<string>;
}

/** What a search for contradictions found. */
export interface ContradictionPairs {
  readonly links: readonly ContradictionLink[];
  /** True when a limit ended the search early. */
  readonly truncated: boolean;
}

/**
 * Pairs of memories that may contradict each other: they have the same subject and say different things (reference-http
 * §3.1). The subject is the same with the same `metadata.topic`, or with similar titles when neither has a topic.
 * `sameSubject` says that all of them have the same subject. Pure; pairs with the first memories first. It compares at
 * most `CONTRADICTION_COMPARISONS_MAX` pairs and answers at most `CONTRADICTION_PAIRS_MAX`.
 */
export function contradictionPairs(
  memories: readonly Memory[],
  sameSubject: boolean,
  known: ReadonlySet<string>,
): ContradictionPairs {
  const subjects = memories.map(subjectOf);
  const links: ContradictionLink[] = [];
  let compared = 0;
  for (const [index, a] of subjects.entries()) {
    for (const b of subjects.slice(index + 1)) {
      if (links.length === CONTRADICTION_PAIRS_MAX || compared === CONTRADICTION_COMPARISONS_MAX) {
        return { links, truncated: true };
      }
      compared += 1;
      if (a.text === b.text) continue;
      if (!sameSubject && !aboutTheSame(a, b)) continue;
      if (known.has(pairKey(a.memory.id, b.memory.id))) continue;
      links.push({
        source_id: a.memory.id,
        target_id: b.memory.id,
        relation: 'contradicts',
        synthesized: true,
      });
    }
  }
  return { links, truncated: false };
}

/** One key for a pair in either order. */
export const pairKey = (a: string, b: string): string => (a < b ? `${a} ${b}` : `${b} ${a}`);

function subjectOf(memory: Memory): Subject {
  const topic = memory.metadata['topic'];
  return {
    memory,
    text: memory.content.trim(),
    topic: typeof topic === 'string' ? topic : null,
    words: new Set(tellingWords(memory.title).map(stemOf)),
  };
}

/** A title without the number that `on_conflict: version` adds, which says nothing about the subject. */
export const unnumbered = (title: string): string => title.replace(/ \(\d+\)$/, '');

/** The words of a title that name its subject; all words when the title has only stop-words. */
export function tellingWords(title: string): string[] {
  const words = wordsOf(unnumbered(title), TITLE_WORDS_MAX);
  const telling = words.filter((word) => !isStopWord(word));
  return telling.length > 0 ? telling : words;
}

/**
 * Ids of the rows whose titles share the most words with a title, at least `SIMILAR_TITLE_SHARE_MIN` of all their words
 * (reference-http §2.3, potential_contradictions); equal shares keep the order of the rows.
 */
export function potentialContradictions(
  title: string,
  rows: readonly { readonly id: string; readonly title: string }[],
): string[] {
  const words = new Set(tellingWords(title).map(stemOf));
  return rows
    .map((row) => ({ id: row.id, share: sharedPart(words, new Set(tellingWords(row.title).map(stemOf))) }))
    .filter(({ share }) => share >= SIMILAR_TITLE_SHARE_MIN)
    .sort((left, right) => right.share - left.share)
    .slice(0, POTENTIAL_CONTRADICTIONS_MAX)
    .map(({ id }) => id);
}

function aboutTheSame(a: Subject, b: Subject): boolean {
  if (a.topic !== null || b.topic !== null) return a.topic === b.topic;
  return sharedPart(a.words, b.words) >= SIMILAR_MIN;
}

/** The number of common words divided by the number of all words (Jaccard); 0 without words. */
function sharedPart(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared += 1;
  const all = a.size + b.size - shared;
  return all === 0 ? 0 : shared / all;
}
