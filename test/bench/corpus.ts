import type { Memory } from '../../protocol/memory/memory.js';
import { seededRandom, ZipfDraw } from './random.js';
import { EVERYDAY_WORDS, FUNCTION_WORDS } from './words.js';

const VOCABULARY = 50_000;
const NAMESPACES = 50;
const WORDS_MIN = 20;
const WORDS_MAX = 200;
const QUERY_WORDS_MAX = 6;
const EVERYDAY_EVERY = 8;
const NOTE_VOCABULARY = 4000;
const NOTE_WORDS = 40;
const NOTE_QUERY_WORDS = 6;
const CONSONANTS = 'bcdfghklmnprstvz';
const VOWELS = 'aeiou';

/** Words by the share of rows that hold them. */
const BANDS = {
  rare: { from: 0, to: 0.005 },
  medium: { from: 0.005, to: 0.1 },
  common: { from: 0.1, to: 1 },
} as const;
type Band = keyof typeof BANDS;
const BAND_NAMES = Object.keys(BANDS) as Band[];

/**
 * Rows of 20 to 200 words that are drawn as words are in a language (Zipf), in 50 namespaces of uneven size, and
 * queries of 1 to 6 words drawn by document frequency. Most words are made; everyday ones lie between them, from the
 * common to the rare.
 */
export class ZipfCorpus {
  readonly namespaces = Array.from({ length: NAMESPACES }, (_, at) => `corpus/n${at}`);
  private readonly words: readonly string[];
  private readonly wordDraw = new ZipfDraw(VOCABULARY, 1);
  private readonly namespaceDraw = new ZipfDraw(NAMESPACES, 0.8);
  private readonly bands: Readonly<Record<Band, readonly string[]>>;
  private readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.words = madeWords(VOCABULARY, seededRandom(1));
    const meanWords = (WORDS_MIN + WORDS_MAX) / 2;
    const frequency = this.words.map((_, at) => 1 - (1 - this.wordDraw.share(at)) ** meanWords);
    const within = (band: Band) =>
      this.words.filter((_, at) => frequency[at]! >= BANDS[band].from && frequency[at]! < BANDS[band].to);
    this.bands = { rare: within('rare'), medium: within('medium'), common: within('common') };
  }

  /** The next row; titles carry its number and so are unique. */
  row(index: number): Partial<Memory> {
    const { random } = this;
    const count = WORDS_MIN + Math.floor(random() * (WORDS_MAX - WORDS_MIN + 1));
    const words = Array.from({ length: count }, () => this.words[this.wordDraw.at(random())]!);
    return {
      title: `row ${index} ${words[0]} ${words[1]}`,
      content: words.join(' '),
      namespace: this.namespaces[this.namespaceDraw.at(random())]!,
      tier: 'long',
      priority: 1 + (index % 10),
    };
  }

  /** A namespace, as often as it has rows. */
  namespace(): string {
    return this.namespaces[this.namespaceDraw.at(this.random())]!;
  }

  /** A query: words of all bands alike, or common ones alone. */
  query(kind: 'mixed words' | 'common words'): string {
    const count = 1 + Math.floor(this.random() * QUERY_WORDS_MAX);
    return Array.from({ length: count }, () => {
      const band = kind === 'common words' ? 'common' : this.pick(BAND_NAMES);
      return this.pick(this.bands[band]);
    }).join(' ');
  }

  /** A query as a person would put it: so many everyday words. */
  everydayQuery(count: number): string {
    return Array.from({ length: count }, () => this.pick(EVERYDAY_WORDS)).join(' ');
  }

  private pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)]!;
  }
}

/** Notes of 40 words as an agent writes them in one namespace, and queries of six words that one of them holds. */
export class NoteCorpus {
  readonly namespace = 'bench/notes';
  /** The most frequent words of a language are function words. */
  private readonly words = [...FUNCTION_WORDS, ...madeWords(NOTE_VOCABULARY, seededRandom(1))];
  private readonly draw = new ZipfDraw(this.words.length, 1);
  private readonly random: () => number;
  private readonly notes: string[][] = [];

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  row(index: number): Partial<Memory> {
    const words = Array.from({ length: NOTE_WORDS }, () => this.words[this.draw.at(this.random())]!);
    this.notes.push(words);
    return {
      title: `note ${index} ${words[0]} ${words[1]}`,
      content: words.join(' '),
      namespace: this.namespace,
      tier: 'long',
    };
  }

  query(): string {
    const note = this.notes[Math.floor(this.random() * this.notes.length)]!;
    const from = Math.floor(this.random() * (NOTE_WORDS - NOTE_QUERY_WORDS));
    return note.slice(from, from + NOTE_QUERY_WORDS).join(' ');
  }
}

function madeWords(count: number, random: () => number): string[] {
  const everyday = [...EVERYDAY_WORDS];
  const words = new Set<string>();
  const letter = (from: string) => from[Math.floor(random() * from.length)]!;
  while (words.size < count) {
    // One word in eight, so that they reach from the most frequent ranks to where a word is in few rows.
    if (words.size % EVERYDAY_EVERY === 0 && everyday.length > 0) {
      words.add(everyday.splice(Math.floor(random() * everyday.length), 1)[0]!);
      continue;
    }
    const syllables = 2 + Math.floor(random() * 3);
    let word = '';
    for (let at = 0; at < syllables; at += 1) word += letter(CONSONANTS) + letter(VOWELS);
    words.add(random() < 0.5 ? word + letter(CONSONANTS) : word);
  }
  return [...words];
}
