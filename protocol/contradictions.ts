import type { ContradictionLink } from './life-queries.js';
import { CONTRADICTION_PAIRS_MAX } from './limits.js';
import type { Memory } from './memory.js';
import { stemOf } from './ranking/porter.js';
import { isStopWord } from './ranking/stop-words.js';
import { wordsOf } from './ranking/tokens.js';

/** Titles are read up to here. */
const TITLE_WORDS_MAX = 64;
/** Titles that share this part of their words are about the same. */
const SIMILAR_MIN = 0.6;

interface Subject {
  readonly memory: Memory;
  readonly topic: string | null;
  readonly words: ReadonlySet<string>;
}

/**
 * Pairs of memories that may contradict each other, because they are about the same and say different things
 * (reference-http §3.1): the same `metadata.topic`, or similar titles where neither has one. With `sameSubject` all
 * of them are about the same already. Pure; the newest pairs first as the memories come, at most
 * `CONTRADICTION_PAIRS_MAX`.
 */
export function contradictionPairs(
  memories: readonly Memory[],
  sameSubject: boolean,
  known: ReadonlySet<string>,
): ContradictionLink[] {
  const subjects = memories.map(subjectOf);
  const links: ContradictionLink[] = [];
  for (const [index, a] of subjects.entries()) {
    for (const b of subjects.slice(index + 1)) {
      if (a.memory.content.trim() === b.memory.content.trim()) continue;
      if (!sameSubject && !aboutTheSame(a, b)) continue;
      if (known.has(pairKey(a.memory.id, b.memory.id))) continue;
      links.push({
        source_id: a.memory.id,
        target_id: b.memory.id,
        relation: 'contradicts',
        synthesized: true,
      });
      if (links.length === CONTRADICTION_PAIRS_MAX) return links;
    }
  }
  return links;
}

/** One key for a pair, whichever comes first. */
export const pairKey = (a: string, b: string): string => (a < b ? `${a} ${b}` : `${b} ${a}`);

function subjectOf(memory: Memory): Subject {
  const topic = memory.metadata['topic'];
  // The number that `on_conflict: version` adds says nothing about the subject.
  const words = wordsOf(memory.title.replace(/ \(\d+\)$/, ''), TITLE_WORDS_MAX);
  const telling = words.filter((word) => !isStopWord(word));
  return {
    memory,
    topic: typeof topic === 'string' ? topic : null,
    words: new Set((telling.length > 0 ? telling : words).map(stemOf)),
  };
}

function aboutTheSame(a: Subject, b: Subject): boolean {
  if (a.topic !== null || b.topic !== null) return a.topic === b.topic;
  if (a.words.size === 0 || b.words.size === 0) return false;
  let shared = 0;
  for (const word of a.words) if (b.words.has(word)) shared += 1;
  return shared / (a.words.size + b.words.size - shared) >= SIMILAR_MIN;
}
