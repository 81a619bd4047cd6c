import type { EmbedderInput } from './embedder.js';
import { beginningOf, tokenWindows } from './token-windows.js';

/**
 * Most windows of one memory. Each costs as much as an embedding. 16 windows of the built-in encoder reach past the first
 * 1,000 words; full text covers the rest.
 */
export const WINDOWS_MAX = 16;
/** The title stands at the start of every window, but never takes more than a third of it. */
const TITLE_SHARE = 1 / 3;
/** Characters that are read when the model takes whole memories. */
const WHOLE_TEXT_LENGTH_MAX = 32_768;
/** A sample of this many characters shows whether a text has letters. */
const SAMPLE_LENGTH = 8_192;

/** Why a text gets no vector: it has no letters. */
export type Unembeddable = 'no_letters';

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
  const text = `${title} ${content}`.trim();
  // Spaces do not count toward the sample, so a long blank start hides no letters.
  if (!/\p{L}/u.test(text.slice(0, SAMPLE_LENGTH))) return { ok: false, reason: 'no_letters' };
  if (input.windowTokens !== null) return byTokens(title, text, input.windowTokens);
  return { ok: true, windows: [text.slice(0, WHOLE_TEXT_LENGTH_MAX)] };
}

function byTokens(title: string, text: string, tokens: number): Chunking {
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
