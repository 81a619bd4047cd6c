import { TermFinder } from '../../../protocol/ranking/found-terms.js';
import { cutMark } from '../../pipeline/cut-mark.js';
import { estimatedTokens } from '../../semantics/estimated-tokens.js';
import { type TextParts, textParts, wholeAt, wordEnd } from './text-parts.js';

/** A part of a text, of which a passage has some whole, has at most so many tokens. */
const PART_TOKENS = 100;
/** What the terms of a part count for the parts around it: how many parts later, and the share. */
const REACH: readonly (readonly [number, number])[] = [
  [-3, 0.2],
  [-2, 0.2],
  [-1, 0.5],
  [0, 1],
  [1, 0.8],
  [2, 0.5],
  [3, 0.2],
  [4, 0.2],
];
/** In fewer characters there is room for no further part. */
const ROOM_MIN = 16;
/** Words that stand within so many characters stand together. */
const NEAR = 240;
const CUT = '…';

/** What an answer shows of a text. */
export interface Shown {
  readonly text: string;
  /** False for a passage, which leaves out what its mark counts. */
  readonly whole: boolean;
}

/** A text, its parts, and what they have of the query. */
interface Searched {
  readonly text: string;
  /** Characters that the passage may have. */
  readonly room: number;
  readonly parts: TextParts;
  readonly hits: readonly Hit[];
}

/** The first place of a term in a part. */
interface Hit {
  readonly part: number;
  readonly term: number;
  readonly at: number;
}

/** Cuts passages for one query. */
export class Passages {
  private readonly finder: TermFinder;

  constructor(query: string) {
    this.finder = new TermFinder(query);
  }

  /**
   * Of each text the parts that have the most of the query, in their order, in about as many tokens as `tokens` says; a text that
   * has no more is whole. The rarer a term is in these texts, the more it counts. A part brings its heading.
   */
  of(texts: readonly string[], tokens: readonly number[]): Shown[] {
    const searched = texts.map((text, at) => this.searched(text, tokens[at]!));
    const weights = this.weightsIn(searched.filter((one) => one !== null));
    return searched.map((one, at) =>
      one === null ? { text: texts[at]!, whole: true } : { text: passageOf(one, weights), whole: false },
    );
  }

  /** How closely the words of the query stand together in a title or in a part of a text: 1 for all of them, 0 for none. */
  closeness(title: string, content: string): number {
    const { size } = this.finder;
    return size === 0 ? 0 : Math.max(this.together(title), this.together(content)) / size;
  }

  /** The most different terms within `NEAR` characters. */
  private together(text: string): number {
    const places = this.finder.places(text);
    const inside = new Uint16Array(this.finder.size);
    let most = 0;
    let different = 0;
    let next = 0;
    for (const { at, term } of places) {
      for (; next < places.length && places[next]!.at < at + NEAR; next += 1) {
        if (inside[places[next]!.term]! === 0) different += 1;
        inside[places[next]!.term]! += 1;
      }
      most = Math.max(most, different);
      inside[term]! -= 1;
      if (inside[term]! === 0) different -= 1;
    }
    return most;
  }

  /** Null for a text that is shown whole. */
  private searched(text: string, tokens: number): Searched | null {
    const all = estimatedTokens(text);
    if (all <= tokens) return null;
    const ofToken = text.length / all;
    const parts = textParts(text, Math.ceil(PART_TOKENS * ofToken));
    const hits: Hit[] = [];
    const seenIn = new Int32Array(this.finder.size).fill(-1);
    let part = 0;
    for (const { term, at } of this.finder.places(text)) {
      while (part + 1 < parts.starts.length && parts.starts[part + 1]! <= at) part += 1;
      if (seenIn[term] === part) continue;
      seenIn[term] = part;
      hits.push({ part, term, at });
    }
    return { text, room: Math.floor(tokens * ofToken), parts, hits };
  }

  /** The weight of each term: the more parts hold it, the less it says. */
  private weightsIn(searched: readonly Searched[]): readonly number[] {
    const held = new Int32Array(this.finder.size);
    let parts = 0;
    for (const one of searched) {
      parts += one.parts.starts.length;
      for (const { term } of one.hits) held[term]! += 1;
    }
    return this.finder.shares.map((share, term) => share * Math.log(1 + parts / (1 + held[term]!)));
  }
}

function passageOf(searched: Searched, weights: readonly number[]): string {
  const ordered = byScore(searched, weights);
  const best = ordered[0] ?? 0;
  const [from, to] = stretchAt(searched, best);
  if (to - from > searched.room) return joined(searched.text, [stretchOf(searched, best)]);
  return joined(searched.text, ordered.length === 0 ? beginning(searched) : bestParts(searched, ordered));
}

/** The parts that have something of the query or are beside such a part, the best one first. */
function byScore({ parts: { starts }, hits }: Searched, weights: readonly number[]): number[] {
  const scores = new Float64Array(starts.length);
  const scored: number[] = [];
  for (const { part, term } of hits) {
    for (const [later, share] of REACH) {
      const at = part + later;
      if (at < 0 || at >= scores.length) continue;
      if (scores[at] === 0) scored.push(at);
      scores[at]! += weights[term]! * share;
    }
  }
  return scored.sort((left, right) => scores[right]! - scores[left]! || left - right);
}

type Stretch = readonly [from: number, to: number];

const stretchAt = ({ text, parts: { starts } }: Searched, part: number): Stretch => [
  starts[part]!,
  starts[part + 1] ?? text.length,
];

/** The first of the ordered parts that there is room for, each with the parts that it stands under, in the order of the text. */
function bestParts(searched: Searched, ordered: readonly number[]): Stretch[] {
  const { leads } = searched.parts;
  const taken = new Set<number>();
  let room = searched.room;
  const take = (part: number): boolean => {
    const [from, to] = stretchAt(searched, part);
    if (to - from > room) return false;
    room -= to - from;
    taken.add(part);
    return true;
  };
  for (const part of ordered) {
    if (room < ROOM_MIN) break;
    if (taken.has(part) || !take(part)) continue;
    for (let lead = leads[part]!; lead !== -1 && !taken.has(lead) && take(lead); ) lead = leads[lead]!;
  }
  return [...taken].sort((left, right) => left - right).map((part) => stretchAt(searched, part));
}

/** The first parts that there is room for. */
function beginning(searched: Searched): Stretch[] {
  const chosen: Stretch[] = [];
  for (let part = 0; part < searched.parts.starts.length; part += 1) {
    const stretch = stretchAt(searched, part);
    if (stretch[1] > searched.room) break;
    chosen.push(stretch);
  }
  return chosen;
}

/** As much as there is room for of a part that is too long, around the first term in it. */
function stretchOf(searched: Searched, part: number): Stretch {
  const { text, room, hits } = searched;
  const [start] = stretchAt(searched, part);
  const hit = hits.find((one) => one.part === part)?.at ?? start;
  const before = Math.max(start, hit - Math.floor(room / 4));
  const from = before === start ? start : wordStart(text, before, hit);
  return [from, wordEnd(text, from, from + room)];
}

function wordStart(text: string, before: number, hit: number): number {
  const space = text.slice(before, hit).search(/\s/u);
  return space === -1 ? wholeAt(text, hit) : before + space + 1;
}

/** The stretches with a mark where something is left out; `[+n]` at the end says how many characters. */
function joined(text: string, stretches: readonly Stretch[]): string {
  let passage = '';
  let kept = 0;
  let end = 0;
  for (const [from, to] of merged(stretches)) {
    const isLine = from > 0 && text[from - 1] === '\n';
    const part = isLine ? text.slice(from, to).trimEnd() : text.slice(from, to).trim();
    // What is left out inside of a line makes no other line.
    if (end > 0) passage += isLine || text.slice(end, from).includes('\n') ? '\n' : ' ';
    passage += from > 0 ? CUT + part : part;
    kept += part.length;
    end = to;
  }
  const rest = text.slice(end).trim() === '' ? '' : CUT;
  return `${passage}${rest}${cutMark(text.length - kept)}`;
}

function merged(stretches: readonly Stretch[]): Stretch[] {
  const all: Stretch[] = [];
  for (const [from, to] of stretches) {
    const last = all.at(-1);
    if (last?.[1] === from) all[all.length - 1] = [last[0], to];
    else all.push([from, to]);
  }
  return all;
}
