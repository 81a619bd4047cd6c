import { z } from 'zod';
import type { Crypto } from '../../../protocol/base/seams.js';
import { dataBlocks } from '../../models/data-blocks.js';
import type { Question } from '../../models/models.js';
import { jsonAnswer } from '../../models/read-answer.js';
import * as fields from '../../pipeline/fields.js';

export const PIPELINE_VARIANTS = ['two_phase', 'four_step'] as const;
export type PipelineVariant = (typeof PIPELINE_VARIANTS)[number];

const STAGES_MAX = 8;
const INSTRUCTION_CHARACTERS_MAX = 2000;

/** The helpers that need no model. */
export const HELPERS = ['normalise', 'sentences', 'distinct'] as const;

const name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be a word of a-z, 0-9 and _, with at most 32 characters');

const stage = z.discriminatedUnion('kind', [
  z.strictObject({ name, kind: z.literal('helper'), helper: z.enum(HELPERS) }),
  z.strictObject({
    name,
    kind: z.literal('model'),
    instruction: fields.words(INSTRUCTION_CHARACTERS_MAX),
  }),
]);

/** A pipeline of the caller: its stages in their order. */
export const pipeline = z.strictObject({
  stages: z
    .array(stage)
    .min(1)
    .max(STAGES_MAX)
    .refine(
      (stages) => new Set(stages.map((each) => each.name)).size === stages.length,
      'name each stage once',
    ),
});

export type Stage = z.output<typeof stage>;

const helper = (of: (typeof HELPERS)[number]): Stage => ({ name: of, kind: 'helper', helper: of });
const model = (named: string, instruction: string): Stage => ({ name: named, kind: 'model', instruction });

const EXTRACT = model('extract', 'Write every statement of the text as a short item that stands alone.');
const MERGE = model('merge', 'Join items that say the same, and leave out what says nothing.');

const PIPELINES: Readonly<Record<PipelineVariant, readonly Stage[]>> = {
  two_phase: [helper('normalise'), EXTRACT, MERGE],
  four_step: [
    ...[helper('normalise'), EXTRACT],
    model('classify', 'Begin each item with its kind in brackets: [fact], [decision], [event] or [task].'),
    ...[helper('distinct'), MERGE],
    model('order', 'Order the items by importance, the most important one first.'),
  ],
};

export const stagesOf = (variant: PipelineVariant): readonly Stage[] => PIPELINES[variant];

/** Items that a stage gives to the next one. */
const ITEMS_MAX = 50;
const ITEM_CHARACTERS_MAX = 2000;
const ANSWER_TOKENS = 2048;

/** The one system prompt of all stages, so that a service can keep it in its cache. */
const SYSTEM = [
  'You prepare a text for a memory, in several steps.',
  'The first line says what is to be done with the items of the step before.',
  `Answer with a JSON object {"items": ["...", "..."]} of at most ${ITEMS_MAX} items and nothing else.`,
  'Write no fact that the items do not say.',
].join(' ');

const item = z.string().trim().min(1).max(ITEM_CHARACTERS_MAX);
const items = z.array(item).min(1).max(ITEMS_MAX);
const answer = z.object({ items }).transform((said) => said.items);

/** What a stage of the model is asked. */
export const stageQuestion = (
  instruction: string,
  given: readonly string[],
): Question<readonly string[]> => ({
  ...{ feature: 'ingest_multistep', system: SYSTEM, maxTokens: ANSWER_TOKENS },
  // A caller who brings its own pipeline may say what is done with its own text.
  prompt: `Task: ${instruction}\n\n${dataBlocks(given.map((text, index) => ({ label: `item ${index + 1}`, text })))}`,
  read: jsonAnswer(answer),
});

/** The name of what a service can keep of a question: its model is the same for all stages. */
export const cacheKey = ({ system }: Question<unknown>, crypto: Crypto): string => crypto.sha256Hex(system);

/** What a helper makes of the items. */
export function helped(by: (typeof HELPERS)[number], given: readonly string[]): readonly string[] {
  switch (by) {
    case 'normalise':
      return given
        .map((text) =>
          text
            .normalize('NFC')
            .replace(/[^\S\n]+/g, ' ')
            .trim(),
        )
        .filter(Boolean);
    case 'sentences':
      return given
        .flatMap((text) => text.split(/(?<=[.!?])\s+|\n+/))
        .map((text) => text.trim())
        .filter(Boolean);
    case 'distinct':
      return [...new Map(given.map((text) => [text.toLowerCase(), text])).values()];
  }
}
