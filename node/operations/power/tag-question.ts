import { hasControlCharacter } from '../../../protocol/base/ids.js';
import { MODEL_TEXT_BYTES_MAX } from '../../../protocol/base/model-limits.js';
import { characters, excerpt } from '../../../protocol/base/utf8.js';
import { dataBlocks } from '../../models/data-blocks.js';
import type { Question } from '../../models/models.js';
import { linesAnswer } from '../../models/read-answer.js';

/** What a model may suggest (reference-mcp-cli §6.4). */
const SUGGESTED_TAGS_MAX = 8;
const SUGGESTED_TAG_LENGTH_MAX = 64;
const ANSWER_TOKENS = 200;

const SYSTEM = `You tag notes. Write the tags that describe the note best, at most ${SUGGESTED_TAGS_MAX}, one for each line, in lower case, in the language of the note, without any other words.`;

/** Asks for tags of a text. */
export const tagQuestion = (memory: {
  readonly title: string;
  readonly content: string;
}): Question<readonly string[]> => ({
  feature: 'auto_tag',
  system: SYSTEM,
  prompt: dataBlocks([
    { label: 'title', text: memory.title },
    { label: 'note', text: excerpt(memory.content, MODEL_TEXT_BYTES_MAX) },
  ]),
  maxTokens: ANSWER_TOKENS,
  read: linesAnswer({
    itemsMax: SUGGESTED_TAGS_MAX,
    separator: ',',
    item: tagOf,
    none: `it has no tag: write each tag on a line of its own, with ${SUGGESTED_TAG_LENGTH_MAX} characters at most.`,
  }),
});

/** Null for a line that is no tag: what is longer is a sentence. */
function tagOf(line: string): string | null {
  const tag = line.replace(/^#+/, '').trim().toLowerCase();
  const isTag = tag !== '' && characters(tag) <= SUGGESTED_TAG_LENGTH_MAX && !hasControlCharacter(tag);
  return isTag && !/[<>{}]/.test(tag) ? tag : null;
}
