import { createRequire } from 'node:module';

/** Counts cl100k tokens, the unit of `budget_tokens` (interface §4.3). */
export interface TokenCounter {
  count(text: string): number;
}

type Encoding = typeof import('gpt-tokenizer/encoding/cl100k_base');

/**
 * A counter that loads its tables at the first count: they take time and memory, and most processes never need them.
 */
export function lazyTokenCounter(): TokenCounter {
  let encoding: Encoding | null = null;
  return {
    count(text) {
      encoding ??= createRequire(import.meta.url)('gpt-tokenizer/encoding/cl100k_base') as Encoding;
      // Text that looks like a control token is data here.
      return encoding.countTokens(text, { disallowedSpecial: new Set() });
    },
  };
}
