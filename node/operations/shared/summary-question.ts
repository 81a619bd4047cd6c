import { hasControlCharacter } from '../../../protocol/base/ids.js';
import { CONTENT_BYTES_MAX } from '../../../protocol/base/limits.js';
import { MODEL_TEXT_BYTES_MAX } from '../../../protocol/base/model-limits.js';
import { excerpt, utf8Bytes } from '../../../protocol/base/utf8.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import { dataBlocks } from '../../models/data-blocks.js';
import type { ModelFeature } from '../../models/features.js';
import type { Question } from '../../models/models.js';

/** Bytes of each of many texts; together they are no longer than one may be, but each has a beginning. */
const shareOf = (count: number): number => Math.max(500, Math.floor((2 * MODEL_TEXT_BYTES_MAX) / count));

export interface SummaryRules {
  readonly feature: ModelFeature;
  /** What the summary is for. */
  readonly system: string;
  readonly maxTokens: number;
}

/** Asks for one text that says what several memories say. */
export const summaryQuestion = (
  memories: readonly Pick<Memory, 'title' | 'content'>[],
  { feature, system, maxTokens }: SummaryRules,
): Question<string> => ({
  feature,
  system,
  prompt: dataBlocks(
    memories.map(({ title, content }, index) => ({
      label: `note ${index + 1}`,
      text: excerpt(`${title}\n\n${content}`, Math.min(MODEL_TEXT_BYTES_MAX, shareOf(memories.length))),
    })),
  ),
  maxTokens,
  read: (answer) => {
    const text = answer.replaceAll('\r\n', '\n').trim();
    if (text === '') return { ok: false, problem: 'it is empty.' };
    if (utf8Bytes(text) > CONTENT_BYTES_MAX) return { ok: false, problem: 'it is too long.' };
    return hasControlCharacter(text, '\n\t')
      ? { ok: false, problem: 'it has control characters.' }
      : { ok: true, value: text };
  },
});
