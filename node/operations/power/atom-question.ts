import { z } from 'zod';
import { ATOMS_MAX, ATOMS_MIN } from '../../../protocol/lifecycle/atom-limits.js';
import { dataBlocks } from '../../models/data-blocks.js';
import type { Question } from '../../models/models.js';
import { jsonAnswer } from '../../models/read-answer.js';
import * as fields from '../../pipeline/fields.js';

/** What is to be split, and how far that is done. */
export interface AtomsAsked {
  readonly title: string;
  readonly content: string;
  /** Statements that are stored already, in the order of the text. */
  readonly stored: readonly string[];
  readonly maxTokens: number;
  /** What was wrong with the answer before; null for the first question. */
  readonly problem: string | null;
}

const statements = z.array(z.string().trim().pipe(fields.content)).transform((texts) => [...new Set(texts)]);

/** Asks for the statements of a text that are not stored, in its order. */
export function atomQuestion(asked: AtomsAsked): Question<readonly string[]> {
  const { title, content, stored, maxTokens, problem } = asked;
  const left = ATOMS_MAX - stored.length;
  const system = [
    'You split a note into standalone statements.',
    'Each statement says one thing of the note and is understood without the others: write names instead of pronouns.',
    'Together the statements say all that the note says, in its order, in its language, and nothing else.',
    `Write at most ${left} statements, each of at most ${maxTokens} tokens (about ${Math.floor(maxTokens * 0.6)} words).`,
    ...(stored.length === 0
      ? []
      : [
          'The statements in the blocks "written" exist already: write only those that follow them, and an empty list when none is missing.',
        ]),
    'Answer with a JSON object {"atoms": ["...", "..."]} and nothing else.',
    ...(problem === null ? [] : [`Your last answer could not be used: ${problem}`]),
  ].join(' ');
  const least = Math.max(0, ATOMS_MIN - stored.length);
  const list = statements
    .refine((texts) => texts.length <= left, `write at most ${left} statements`)
    .refine(
      (texts) => stored.length === 0 || texts.every((text) => !stored.includes(text)),
      'a statement is written already',
    )
    .refine(
      (texts) => stored.length === 0 || texts.length >= least,
      `write at least ${least} more statements`,
    );
  const shape = z.object({ atoms: list }).transform(({ atoms }) => atoms);
  return {
    feature: 'atomise',
    system,
    prompt: dataBlocks([
      { label: 'title', text: title },
      { label: 'note', text: content },
      ...stored.map((text, index) => ({ label: `written ${index + 1}`, text })),
    ]),
    maxTokens: ANSWER_TOKENS + left * maxTokens,
    read: jsonAnswer(shape),
  };
}

/** Tokens of an answer besides its statements. */
const ANSWER_TOKENS = 256;
