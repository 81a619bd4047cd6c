import { createRequire } from 'node:module';
import type { CountTokens } from './budget.js';

type Encoding = typeof import('gpt-tokenizer/encoding/cl100k_base');

/** Merges that the tokenizer remembers, each a piece of `RUN_CHARACTERS_MAX` characters at most. */
const REMEMBERED_MERGES_MAX = 10_000;

/**
 * The tokenizer merges the pairs of one run of letters, of spaces or of signs in time that grows with the square of its
 * length, so longer runs are counted in parts. No prose has such a run; a part more costs at most one token more.
 */
const RUN_CHARACTERS_MAX = 64;
const LONG_RUN = new RegExp(
  ['\\p{L}', '[^\\s\\p{L}\\p{N}]', '\\s'].map((set) => `${set}{${RUN_CHARACTERS_MAX + 1},}`).join('|'),
  'gu',
);

/** Loads the tables, about 60 MB. */
export function loadTokenCounting(): CountTokens {
  const encoding = createRequire(import.meta.url)('gpt-tokenizer/encoding/cl100k_base') as Encoding;
  encoding.setMergeCacheSize(REMEMBERED_MERGES_MAX);
  // Text that looks like a control token is data here.
  const options = { disallowedSpecial: new Set<string>() };
  return (text) => {
    let tokens = 0;
    for (const part of partsOf(text)) tokens += encoding.countTokens(part, options);
    return tokens;
  };
}

/** A text in parts whose runs are short. */
export function* partsOf(text: string): Generator<string> {
  let from = 0;
  for (const { index, 0: run } of text.matchAll(LONG_RUN)) {
    for (let cut = index + RUN_CHARACTERS_MAX; cut < index + run.length; cut += RUN_CHARACTERS_MAX) {
      // The two halves of a character beyond U+FFFF stay together.
      const to = isLowSurrogate(text.charCodeAt(cut)) ? cut - 1 : cut;
      yield text.slice(from, to);
      from = to;
    }
  }
  if (from < text.length) yield text.slice(from);
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
