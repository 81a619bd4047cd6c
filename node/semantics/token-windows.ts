import { EMBED_WINDOW_TOKENS_MAX } from '../../protocol/base/limits.js';

/** Characters of which a tokenizer makes about one token each: scripts without spaces, and Korean. */
const DENSE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Tokens of one character, estimated high: a text that is too long is cut by the model or refused. */
const PER_DENSE = 1.2;
const PER_ASCII = 0.3;
const PER_OTHER = 0.6;
/** A window ends at a space when one is in this last share of it. */
const SPACE_SHARE = 0.2;

/** Share of a model's tokens that a window takes, because the number of tokens is an estimate. */
const TOKENS_SHARE = 0.9;

/** Tokens of a window for a model that reads so many. */
export const windowTokensOf = (tokens: number): number =>
  Math.floor(Math.min(EMBED_WINDOW_TOKENS_MAX, tokens) * TOKENS_SHARE);

/** The windows of a text, and whether they hold all of it. */
export interface Windows {
  readonly windows: readonly string[];
  readonly whole: boolean;
}

/** Cuts a text into at most `countMax` windows of about `tokens` tokens, each at a space where there is one. */
export function tokenWindows(text: string, tokens: number, countMax: number): Windows {
  const windows: string[] = [];
  let from = 0;
  while (from < text.length && windows.length < countMax) {
    const end = endOf(text, from, tokens);
    const window = text.slice(from, end).trim();
    if (window !== '') windows.push(window);
    from = end;
  }
  return { windows, whole: text.slice(from).trim() === '' };
}

/** Where the window that begins at `from` ends, between code points. */
function endOf(text: string, from: number, tokens: number): number {
  let cost = 0;
  let at = from;
  let space = -1;
  while (at < text.length) {
    const point = text.codePointAt(at)!;
    const character = String.fromCodePoint(point);
    cost += point < 0x80 ? PER_ASCII : DENSE.test(character) ? PER_DENSE : PER_OTHER;
    if (cost > tokens && at > from) return space > at - (at - from) * SPACE_SHARE ? space : at;
    if (point <= 0x20) space = at;
    at += character.length;
  }
  return at;
}

/** The first part of a text, of about `tokens` tokens. */
export function beginningOf(text: string, tokens: number): string {
  return text.slice(0, endOf(text, 0, tokens)).trim();
}
