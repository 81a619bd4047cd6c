import type { EmbedderInput } from './embedder.js';
import { beginningOf, tokenWindows } from './token-windows.js';

/**
 * Most windows of one memory. A window costs as much as an embedding (about 50 ms for 90 words), so the longest memory
 * occupies the embedder for about a second, and 16 windows reach past the first 1,000 words; full text covers the rest.
 */
export const WINDOWS_MAX = 16;
/** The title stands at the start of every window, but never takes more than a third of it. */
const TITLE_SHARE = 1 / 3;
/** A longer run without spaces is data (a hash, base64), not language, and takes the tokenizer quadratic time. */
const WORD_LENGTH_MAX = 64;
/** Characters that are read when the model takes whole memories. */
const WHOLE_TEXT_LENGTH_MAX = 32_768;
/** A sample of this many characters shows the script of a text. */
const SCRIPT_SAMPLE_LENGTH = 8_192;
/** Text counts as Latin when at least this share of its letters is Latin. */
const LATIN_SHARE_MIN = 1 / 2;

/** Why a text gets no vector: it has no letters, or a script that the model does not know. */
export type Unembeddable = 'no_letters' | 'not_latin';

/** The windows to embed, or why the text gets no vector. */
export type Chunking =
  | {
      readonly ok: true;
      readonly windows: readonly string[];
      /** Set when the text is longer than all windows: its end is in no vector. */
      readonly cut?: true;
    }
  | { readonly ok: false; readonly reason: Unembeddable };

/**
 * Cuts a memory into windows whose vectors represent it. The text is title, a space, content (decisions, "embedding
 * text"); where it does not fit one window, each window begins with the title.
 */
export function chunkMemory(title: string, content: string, input: EmbedderInput): Chunking {
  const reason = unembeddable(`${title} ${content}`, input);
  if (reason !== null) return { ok: false, reason };
  const { windowWords, windowTokens = null } = input;
  if (windowWords === null) {
    const text = `${title} ${content}`.trim();
    if (windowTokens !== null) return byTokens(title, content, windowTokens);
    return { ok: true, windows: [text.slice(0, WHOLE_TEXT_LENGTH_MAX)] };
  }
  const titleWords = words(title, windowWords * WINDOWS_MAX);
  const contentWords = words(content, windowWords * WINDOWS_MAX);
  if (titleWords.length + contentWords.length <= windowWords) {
    return { ok: true, windows: [[...titleWords, ...contentWords].join(' ')] };
  }
  const heading = titleWords.slice(0, Math.floor(windowWords * TITLE_SHARE));
  const body = [...titleWords.slice(heading.length), ...contentWords];
  const bodyWords = windowWords - heading.length;
  const windows: string[] = [];
  for (let from = 0; from < body.length && windows.length < WINDOWS_MAX; from += bodyWords) {
    windows.push([...heading, ...body.slice(from, from + bodyWords)].join(' '));
  }
  const isWhole = body.length <= WINDOWS_MAX * bodyWords;
  return isWhole ? { ok: true, windows } : { ok: true, windows, cut: true };
}

function byTokens(title: string, content: string, tokens: number): Chunking {
  const text = `${title} ${content}`.trim();
  const one = tokenWindows(text, tokens, 1);
  if (one.whole) return { ok: true, windows: one.windows };
  const heading = beginningOf(title, tokens * TITLE_SHARE);
  const body = text.slice(heading.length);
  const { windows, whole } = tokenWindows(body, tokens * (heading === '' ? 1 : 1 - TITLE_SHARE), WINDOWS_MAX);
  const headed = windows.map((window) => `${heading} ${window}`.trim());
  return whole ? { ok: true, windows: headed } : { ok: true, windows: headed, cut: true };
}

/** A query as one window; the rest is cut off. */
export function chunkQuery(query: string, input: EmbedderInput): Chunking {
  const chunking = chunkMemory('', query, input);
  return chunking.ok ? { ok: true, windows: chunking.windows.slice(0, 1) } : chunking;
}

/** Why the text gets no vector; null when it does. */
function unembeddable(text: string, input: EmbedderInput): Unembeddable | null {
  // Spaces do not count toward the sample, so a long blank start hides no letters.
  const sample = text.trimStart().slice(0, SCRIPT_SAMPLE_LENGTH);
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  if (letters === 0) return 'no_letters';
  if (!input.latinOnly) return null;
  const latin = sample.match(/\p{Script=Latin}/gu)?.length ?? 0;
  return latin < letters * LATIN_SHARE_MIN ? 'not_latin' : null;
}

/** The first words of a text, overlong ones cut. */
function words(text: string, countMax: number): string[] {
  const found: string[] = [];
  for (const match of text.matchAll(/\S+/g)) {
    if (found.length === countMax) break;
    found.push(shortened(match[0]));
  }
  return found;
}

/** Cuts between code points: half a surrogate pair is not text. */
function shortened(word: string): string {
  if (word.length <= WORD_LENGTH_MAX) return word;
  return word.slice(0, WORD_LENGTH_MAX).replace(/[\uD800-\uDBFF]$/, '');
}
