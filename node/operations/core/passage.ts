import { type FoundTerm, isUnspaced, TermFinder } from '../../../protocol/ranking/found-terms.js';
import { cutMark } from '../../pipeline/cut-mark.js';

/**
 * Characters of a passage: at most about 60 tokens, and of a short text about a quarter more than the least. A text is
 * a part of the JSON envelope, so a passage that grew as fast would make the compact answer as large.
 */
const SPACED = { most: 240, least: 50 };
/** A script without spaces has about one token for each character. */
const UNSPACED = { most: 80, least: 17 };
const SHARE = 1 / 4;

/** Characters that a passage may have at most, whatever the length of its text, by script. */
export interface PassageLengths {
  readonly spaced: number;
  readonly unspaced: number;
}

/** How far before the first term the beginning of its sentence or line is looked for. */
const LEAD_LENGTH = 60;
const CUT = '…';

/** Cuts passages for one query. */
export class Passages {
  private readonly finder: TermFinder;

  constructor(
    query: string,
    private readonly lengths: PassageLengths | null = null,
  ) {
    this.finder = new TermFinder(query);
  }

  /**
   * The part of a text that holds the most terms of the query, with its lines; the beginning when it holds none. An ellipsis
   * marks what is cut, and `[+n]` at the end says how many characters.
   */
  of(content: string): string {
    const text = compact(content);
    const { length, least } = this.lengthFor(text);
    if (text.length <= length) return text;
    const first = bestStretch(this.finder.places(text), Math.max(least, length - LEAD_LENGTH))?.at ?? null;
    const start = first === null ? 0 : beginningBefore(text, first);
    const end = endBefore(text, start, start + length);
    const part = text.slice(start, end).trim();
    return `${start > 0 ? CUT : ''}${part}${end < text.length ? CUT : ''}${cutMark(text.length - part.length)}`;
  }

  /** How closely the words of the query stand together in a title or in a part of a text: 1 for all of them, 0 for none. */
  closeness(title: string, content: string): number {
    const { size } = this.finder;
    if (size === 0) return 0;
    const near = (text: string) => bestStretch(this.finder.places(text), SPACED.most)?.terms ?? 0;
    return Math.max(near(title), near(compact(content))) / size;
  }

  private lengthFor(text: string): { readonly length: number; readonly least: number } {
    const unspaced = isUnspaced(text.slice(0, SPACED.most));
    if (this.lengths !== null) {
      const length = unspaced ? this.lengths.unspaced : this.lengths.spaced;
      return { length, least: length };
    }
    const { most, least } = unspaced ? UNSPACED : SPACED;
    return { length: Math.min(most, Math.floor(least + text.length * SHARE)), least };
  }
}

/** A text without blank lines, spaces at the ends of lines, and runs of spaces inside them; the indentation stays. */
const compact = (content: string): string =>
  content
    .split(/\r\n?|\n/)
    .map((line) => line.trimEnd().replace(/(\S)\s+/gu, '$1 '))
    .filter((line) => line !== '')
    .join('\n')
    .trim();

/** The stretch with the most different terms, the first of several, and their number; null without terms. */
function bestStretch(places: readonly FoundTerm[], length: number) {
  let best: { readonly at: number; readonly terms: number } | null = null;
  const inside = new Map<number, number>();
  let next = 0;
  for (const { at, term } of places) {
    for (; next < places.length && places[next]!.at < at + length; next += 1) {
      const entering = places[next]!.term;
      inside.set(entering, (inside.get(entering) ?? 0) + 1);
    }
    if (best === null || inside.size > best.terms) best = { at, terms: inside.size };
    const left = inside.get(term)! - 1;
    if (left === 0) inside.delete(term);
    else inside.set(term, left);
  }
  return best;
}

/** The beginning of the sentence of a place, or of a word, if it is near. */
function beginningBefore(text: string, at: number): number {
  const from = Math.max(0, at - LEAD_LENGTH);
  if (from === 0) return 0;
  const lead = text.slice(from, at);
  const sentence = Math.max(
    ...['\n', '. ', '! ', '? ', '。', '！', '？'].map((end) => lead.lastIndexOf(end)),
  );
  if (sentence >= 0) return from + sentence + 1;
  const word = lead.search(/\s/u);
  return word === -1 ? whole(text, at) : from + word + 1;
}

/** The last end of a word in a stretch; the end of the stretch where it holds one long word. */
function endBefore(text: string, start: number, limit: number): number {
  if (limit >= text.length) return text.length;
  const space = Math.max(text.lastIndexOf(' ', limit), text.lastIndexOf('\n', limit));
  return space > start + (limit - start) / 2 ? space : whole(text, limit);
}

/** Not between the halves of a surrogate pair. */
const whole = (text: string, at: number): number => (/[\uDC00-\uDFFF]/.test(text[at] ?? '') ? at - 1 : at);
