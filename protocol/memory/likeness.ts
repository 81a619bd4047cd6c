import { pairsOf } from '../ranking/found-terms.js';
import { isStopWord } from '../ranking/stop-words.js';
import { wordsOf } from '../ranking/tokens.js';

/** Words of a text that are compared; a longer text is compared by its beginning. */
const COMPARED_WORDS_MAX = 400;
/** Characters that are read for them. */
export const COMPARED_LENGTH_MAX = 2_000;
/** Two texts count as nearly the same from this share of common words on. */
export const LIKENESS_MIN = 0.8;

interface Text {
  readonly title: string;
  readonly content: string;
}

/** The parts of a text that are compared: its words, and pairs of characters where a script has no spaces. */
export function likenessUnits(text: string): string[] {
  return wordsOf(text.slice(0, COMPARED_LENGTH_MAX), COMPARED_WORDS_MAX).flatMap((word) =>
    word.charCodeAt(0) < 128 ? [word] : pairsOf(word),
  );
}

/** A text that others are compared with. */
export class Likeness {
  private readonly units: ReadonlyMap<string, number>;
  private readonly size: number;

  constructor({ title, content }: Text) {
    const units = likenessUnits(`${title} ${content}`);
    this.units = counted(units);
    this.size = units.length;
  }

  /** The share of words that two texts have in common, 0 to 1; repeated words count as often as they occur (Dice). */
  to({ title, content }: Text): number {
    const others = likenessUnits(`${title} ${content}`);
    let shared = 0;
    for (const [unit, count] of counted(others)) shared += Math.min(count, this.units.get(unit) ?? 0);
    const all = this.size + others.length;
    return all === 0 ? 0 : (2 * shared) / all;
  }
}

function counted(units: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const unit of units) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  return counts;
}

/** Words that are searched for in the index to find texts that are nearly the same, in groups. */
const SEARCHED_WORDS_MAX = 12;
const GROUPS = 3;

/**
 * Groups of words for the search: a text that differs in fewer words than there are groups has all words of one group.
 * Words that name something come first, taken from the whole text; numbers, in which look-alikes differ, come last.
 */
export function searchedGroups({ title, content }: Text): string[][] {
  const words = [
    ...new Set(wordsOf(`${title} ${content}`.slice(0, COMPARED_LENGTH_MAX), COMPARED_WORDS_MAX)),
  ];
  const telling = words.filter((word) => !isStopWord(word) && !/\d/.test(word));
  const chosen = spread(telling.length >= GROUPS ? telling : words, SEARCHED_WORDS_MAX);
  const groups = Array.from({ length: Math.min(GROUPS, chosen.length) }, (): string[] => []);
  for (const [index, word] of chosen.entries()) groups[index % groups.length]!.push(word);
  return groups;
}

/** At most `count` items, evenly over the list. */
function spread(items: readonly string[], count: number): readonly string[] {
  if (items.length <= count) return items;
  return Array.from({ length: count }, (_, index) => items[Math.floor((index * items.length) / count)]!);
}

/** Words without which a sentence says the same. */
const FILLERS: ReadonlySet<string> = new Set(['a', 'an', 'the', 'that', 'just', 'very', 'please']);

/**
 * True when two texts say the same: their words are equal, in the same order, except for fillers, the capital at the
 * beginning of a sentence, and the punctuation at its end. Any other difference, also of case or of a sign inside a word,
 * may be another name, number, date, negation or identifier.
 */
export function saysTheSame(a: Text, b: Text): boolean {
  return samePart(a.title, b.title) && samePart(a.content, b.content);
}

function samePart(a: string, b: string): boolean {
  const left = meaningOf(a);
  const right = meaningOf(b);
  return left.length === right.length && left.every((word, index) => word === right[index]);
}

function meaningOf(text: string): string[] {
  const words: string[] = [];
  let begins = true;
  for (const [typed] of text.matchAll(/\S+/g)) {
    const bare = typed.replace(/[.,;:!]+$/, '');
    const word = begins && /^\p{Lu}\p{Ll}*$/u.test(bare) ? bare.toLowerCase() : bare;
    begins = /[.!?]$/.test(typed);
    if (word !== '' && !FILLERS.has(word)) words.push(word);
  }
  return words;
}
