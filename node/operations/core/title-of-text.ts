import { isBlank } from '../../../protocol/base/ids.js';
import { TITLE_LENGTH_MAX } from '../../../protocol/base/limits.js';

/** Characters of a title that is made of a text. */
const CHARACTERS_MAX = 72;

/** A sentence or a row of words that is shorter says too little. */
const CHARACTERS_MIN = 10;

/**
 * A title for a text that comes without one: the first sentence of its first line, cut at a word where it is too long.
 * A text without a visible character gets a word, so that only the text is refused.
 */
export function titleOfText(text: string): string {
  const lines = text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).map(plain);
  const line = lines.find((each) => /[\p{L}\p{N}]/u.test(each)) ?? lines.find((each) => !isBlank(each));
  const title = line === undefined ? 'Untitled' : shortened(line);
  return [...title].slice(0, TITLE_LENGTH_MAX).join('').toWellFormed();
}

/** A line without control characters, surplus spaces, and the mark of a heading, list or quote before it. */
function plain(line: string): string {
  const words = line.replace(/[\p{Cc}\p{Zs}]+/gu, ' ').trim();
  const marked = /^(?:#{1,6}|[-*+>](?: \[[ xX]\])?|\d{1,3}[.)]) (.*)$/su.exec(words);
  return marked?.[1] ?? words;
}

function shortened(line: string): string {
  const sentence = /^.*?[.!?](?= \p{Lu})|^.*?[\u3002\uff01\uff1f]/su.exec(line)?.[0];
  const characters = graphemes(line);
  const length = sentence === undefined ? 0 : graphemes(sentence).length;
  if (length >= CHARACTERS_MIN && length <= CHARACTERS_MAX) return ended(sentence!);
  if (characters.length <= CHARACTERS_MAX) return ended(line);
  const room = characters.slice(0, CHARACTERS_MAX);
  const space = characters[CHARACTERS_MAX] === ' ' ? CHARACTERS_MAX : room.lastIndexOf(' ');
  return `${room
    .slice(0, space >= CHARACTERS_MIN ? space : undefined)
    .join('')
    .replace(/[\s,;:\u2013\u2014-]+$/u, '')}…`;
}

/** What people read as one character stays whole. */
const graphemes = (text: string): string[] =>
  [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text.slice(0, 16 * CHARACTERS_MAX))].map(
    ({ segment }) => segment,
  );

/** A sentence without the full stop at its end. */
const ended = (sentence: string) => (/[^.]\.$/u.test(sentence) ? sentence.slice(0, -1) : sentence);
