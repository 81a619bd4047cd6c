/** A text in parts that follow each other without a gap. Offsets are UTF-16 units. */
export interface TextParts {
  /** Where each part begins; it ends where the next one begins. */
  readonly starts: readonly number[];
  /** For each part the part that it stands under, such as a heading or the first line of a block; -1 for none. */
  readonly leads: readonly number[];
}

/** A shorter line is not a line of a wrapped paragraph. */
const WRAPPED_LENGTH_MIN = 50;
/** A sentence shorter than this share of a part stays with the next one. */
const SENTENCE_SHARE = 1 / 3;
/** Deeper indentation counts as this. */
const INDENT_MAX = 60;

const HEADING = /(#{1,6})[ \t]/y;
const HEADING_DEPTHS = 6;
/** An item of a list. */
const ITEM = /(?:[-*+\u2022]|\d{1,3}[.)])[ \t]/y;
const SENTENCE_END = /[.!?\u2026]["'\u201d\u2019)\]]?(?=\s)|[\u3002\uff01\uff1f][\u300d\u300f\uff09]?/g;
/** What the last line of a paragraph or the line above a list ends with. */
const ENDS = new Set('.!?:;…。！？：；"\'”’)]}');
const GOES_ON = /[\p{Ll}\p{N}]/uy;

/** What is known of a line that is not blank. */
interface Line {
  readonly at: number;
  readonly end: number;
  /** A line belongs to the nearest line above it that is less deep. */
  readonly depth: number;
  readonly kind: 'plain' | 'heading' | 'item' | 'row';
}

/**
 * Cuts a text into its lines, lines that wrap one paragraph together, and what is longer than `most` into sentences. A blank
 * line belongs to the part before it. Takes time that grows with the text.
 */
export function textParts(text: string, most: number): TextParts {
  const starts: number[] = [];
  const leads: number[] = [];
  const above: { readonly depth: number; readonly part: number }[] = [];
  const close = (block: Line | null, end: number) => {
    if (block === null) return;
    while (above.length > 0 && above.at(-1)!.depth >= block.depth) above.pop();
    const lead = above.at(-1)?.part ?? -1;
    starts.push(block.at);
    if (end - block.at > most) cut(text, [block.at, end], most, starts);
    while (leads.length < starts.length) leads.push(lead);
    above.push({ depth: block.depth, part: starts.length - 1 });
  };
  let block: Line | null = null;
  let last: Line | null = null;
  for (let at = 0; at < text.length; ) {
    const line = lineAt(text, at, last);
    if (line === null) last = null;
    else {
      if (last === null || !continues(text, last, line)) {
        close(block, at);
        block = line;
      }
      last = line;
    }
    at = line?.end ?? endOfLine(text, at);
  }
  close(block, text.length);
  // Blank lines before the first part are its own.
  if (starts.length > 0) starts[0] = 0;
  return { starts, leads };
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

const isSpace = (text: string, at: number): boolean => text.charCodeAt(at) <= 32;

/** Null for a blank line. */
function lineAt(text: string, at: number, before: Line | null): Line | null {
  const end = endOfLine(text, at);
  let first = at;
  while (first < end && isSpace(text, first)) first += 1;
  if (first === end) return null;
  const depth = HEADING_DEPTHS + 1 + 2 * Math.min(first - at, INDENT_MAX);
  switch (text[first]) {
    case '|':
      // The first row of a table is the head of the others.
      return { at, end, depth: before?.kind === 'row' ? depth + 1 : depth, kind: 'row' };
    case '#': {
      const marks = found(HEADING, text, first)?.[1]?.length;
      return {
        at,
        end,
        ...(marks === undefined ? { depth, kind: 'plain' } : { depth: marks, kind: 'heading' }),
      };
    }
    default:
      return found(ITEM, text, first) === null
        ? { at, end, depth, kind: 'plain' }
        : { at, end, depth: depth + 1, kind: 'item' };
  }
}

/** What a sticky pattern finds at a place. */
function found(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Whether a line goes on with the sentence of the line before it. */
function continues(text: string, before: Line, line: Line): boolean {
  if (line.kind !== 'plain' || before.kind === 'heading' || before.kind === 'row') return false;
  if (before.end - before.at < WRAPPED_LENGTH_MIN) return false;
  let last = before.end - 1;
  while (isSpace(text, last)) last -= 1;
  let first = line.at;
  while (isSpace(text, first)) first += 1;
  return !ENDS.has(text[last]!) && found(GOES_ON, text, first) !== null;
}

type Stretch = readonly [from: number, to: number];

/** Adds where further parts of a stretch begin: after the ends of sentences, and where one is too long, after a word. */
function cut(text: string, [from, to]: Stretch, most: number, starts: number[]): void {
  let start = from;
  let sentence = from;
  const begin = (at: number) => {
    start = at;
    starts.push(at);
  };
  for (const end of sentenceEnds(text, [from, to])) {
    if (end - start > most && sentence > start) begin(sentence);
    while (end - start > most) begin(wordEnd(text, start, start + most));
    sentence = end;
    if (end - start >= most * SENTENCE_SHARE && end < to) begin(end);
  }
}

function* sentenceEnds(text: string, [from, to]: Stretch): Generator<number> {
  for (const { index, 0: sign } of text.slice(from, to).matchAll(SENTENCE_END)) {
    yield from + index + sign.length;
  }
  yield to;
}

/** The end of the last word before a limit; the limit itself where one word fills the second half of the stretch. */
export function wordEnd(text: string, start: number, limit: number): number {
  if (limit >= text.length) return text.length;
  const half = start + Math.floor((limit - start) / 2);
  const stretch = text.slice(half, limit);
  const space = Math.max(stretch.lastIndexOf(' '), stretch.lastIndexOf('\n'));
  return space > 0 ? half + space : wholeAt(text, limit);
}

/** Not between the halves of a surrogate pair. */
export const wholeAt = (text: string, at: number): number =>
  isLow(text.charCodeAt(at)) && at > 0 ? at - 1 : at;

const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
