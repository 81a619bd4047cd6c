import { MODEL_TEXT_BYTES_MAX } from '../../../protocol/base/model-limits.js';
import { excerpt } from '../../../protocol/base/utf8.js';
import type { Kind } from '../../../protocol/memory/memory.js';
import { dataBlocks } from '../../models/data-blocks.js';
import type { Question } from '../../models/models.js';

/** What the kinds mean that a model may say; reflections and personas are written otherwise. */
const MEANINGS = {
  conversation: 'what people said to each other',
  decision: 'what somebody decided',
  event: 'what happened at a time',
  relation: 'how persons or things are connected',
  entity: 'what a person or a thing is',
  claim: 'what somebody asserts',
  concept: 'what a word or an idea means',
  observation: 'anything else',
} satisfies Partial<Record<Kind, string>>;

const ANSWER_TOKENS = 20;
const WORDS = Object.entries(MEANINGS).map(([kind, meaning]) => `"${kind}" (${meaning})`);
const SYSTEM = `You say what kind of note a note is: ${WORDS.join(', ')}. Answer with one of these words only.`;

/** Asks for the kind of a text. */
export const kindQuestion = ({ title, content }: { readonly title: string; readonly content: string }) =>
  ({
    feature: 'classify_kind',
    system: SYSTEM,
    prompt: dataBlocks([
      { label: 'title', text: title },
      { label: 'note', text: excerpt(content, MODEL_TEXT_BYTES_MAX) },
    ]),
    maxTokens: ANSWER_TOKENS,
    read: (answer) => {
      const word = /^\W{0,10}([a-z]{1,20})\W{0,10}$/i.exec(answer)?.[1]?.toLowerCase() ?? '';
      return Object.hasOwn(MEANINGS, word)
        ? { ok: true, value: word as keyof typeof MEANINGS }
        : { ok: false, problem: 'it is not one of the words.' };
    },
  }) satisfies Question<Kind>;
