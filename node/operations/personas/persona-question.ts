import type { MemoryRow } from '../../../protocol/memory/memory.js';
import type { Question } from '../../models/models.js';
import { summaryQuestion } from '../shared/summary-question.js';

const SYSTEM =
  'You write a profile of one entity from notes about it: 300 to 500 words of Markdown, in the language of the notes. Say only what the notes say. Behind each statement write a footnote with the number of its note, like [^2]. Do not write the list of footnotes.';
const ANSWER_TOKENS = 1500;

/** Asks for the text of a persona of reflections. */
export const personaQuestion = (reflections: readonly MemoryRow[]): Question<string> =>
  summaryQuestion(reflections, { feature: 'persona', system: SYSTEM, maxTokens: ANSWER_TOKENS });

/** The text with the list of its sources, which the model does not write. */
export function personaBody(text: string, reflections: readonly MemoryRow[]): string {
  // A footnote that the model defines would take the place of a source.
  const without = text.replace(/^\[\^[^\]]*\]:.*$/gm, '').trim();
  const sources = reflections.map(({ title, id }, index) => `[^${index + 1}]: ${title} - ${id}`);
  return `${without}\n\n## Sources\n\n${sources.join('\n')}\n`;
}
