import { z } from 'zod';
import { PASSAGE_TOKENS_MIN, PASSAGES_TOKENS, SHORT_TEXT_TOKENS } from '../../../protocol/base/limits.js';
import { estimatedTokens } from '../../semantics/estimated-tokens.js';
import type { Passages, Shown } from './passage.js';

/** Which text stands beside each title. */
export const textChoice = z
  .enum(['passage', 'full', 'none'])
  .describe('Text beside each title: a passage (a short text whole), the full text, or none');

export type TextChoice = z.output<typeof textChoice>;

/** Share of a stated budget that passages take, because their tokens are estimated. */
const STATED_SHARE = 0.9;

/** How the texts of an answer share its tokens. */
export interface Sharing {
  /** Tokens that the caller allows; null where it does not say. */
  readonly budget: number | null;
  /** Whether the first rows are the best ones. */
  readonly ranked: boolean;
}

/** The texts, whole where they are short or their share is enough, else a passage. */
export function sharedTexts(
  passages: Passages,
  texts: readonly string[],
  { budget, ranked }: Sharing,
): readonly Shown[] {
  const tokens = budget === null ? PASSAGES_TOKENS : Math.floor(budget * STATED_SHARE);
  return passages.of(texts, sharesOf(texts.map(estimatedTokens), tokens, ranked));
}

/**
 * The tokens of each text. A short one has all that it needs and a longer one the least of a passage. Of what is then left, at
 * least half of the budget, a ranked row may take half and the next one half of the rest; the others divide it evenly. What a
 * row does not need stays for the rows after it, and what remains goes to the first ones.
 */
export function sharesOf(needs: readonly number[], budget: number, ranked: boolean): readonly number[] {
  const shares = needs.map((need) => (need <= SHORT_TEXT_TOKENS ? need : PASSAGE_TOKENS_MIN));
  const least = shares.reduce((sum, share) => sum + share, 0);
  let left = Math.max(budget - least, Math.floor(budget / 2));
  const give = (at: number, offered: number): void => {
    const given = Math.min(needs[at]! - shares[at]!, Math.floor(offered));
    shares[at]! += given;
    left -= given;
  };
  for (let at = 0; at < needs.length; at += 1) give(at, ranked ? left / 2 : left / (needs.length - at));
  for (let at = 0; at < needs.length; at += 1) give(at, left);
  return shares;
}

/** A row with its text: whole as `content`, else as `passage`, so that a part is not taken for the whole. */
export function withText(row: object, shown: Shown, wanted: TextChoice | undefined): object {
  if (wanted !== 'none' && shown.whole) return row;
  const { content: _, ...rest } = row as { readonly content?: unknown };
  return wanted === 'none' ? rest : { ...rest, passage: shown.text };
}
