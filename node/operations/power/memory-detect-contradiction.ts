import { z } from 'zod';
import { MODEL_TEXT_BYTES_MAX } from '../../../protocol/base/model-limits.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { excerpt } from '../../../protocol/base/utf8.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import { dataBlocks } from '../../models/data-blocks.js';
import type { Question } from '../../models/models.js';
import { askModel } from '../../pipeline/ask-model.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { readMemory } from '../shared/resolve-id.js';

const ANSWER_TOKENS = 20;
const SYSTEM =
  'You compare two notes. Answer "yes" when both cannot be true at the same time, else "no". Answer with that one word only.';

type Text = Pick<MemoryRow, 'title' | 'content'>;

/** Asks whether two texts contradict each other. */
export const contradictionQuestion = (one: Text, other: Text): Question<boolean> => ({
  feature: 'detect_contradiction',
  system: SYSTEM,
  prompt: dataBlocks([
    { label: 'title of the first note', text: one.title },
    { label: 'first note', text: excerpt(one.content, MODEL_TEXT_BYTES_MAX) },
    { label: 'title of the second note', text: other.title },
    { label: 'second note', text: excerpt(other.content, MODEL_TEXT_BYTES_MAX) },
  ]),
  maxTokens: ANSWER_TOKENS,
  read: (answer) => {
    const word = /^\W*(yes|no)\b/i.exec(answer)?.[1]?.toLowerCase();
    return word === undefined
      ? { ok: false, problem: 'it is neither yes nor no.' }
      : { ok: true, value: word === 'yes' };
  },
});

const named = z.object({ id: z.string(), title: z.string() });

/** Says whether two memories contradict each other (reference-mcp-cli §6.4). */
export const memoryDetectContradiction = defineOperation({
  name: 'memory_detect_contradiction',
  family: 'power',
  summary: 'Have a chat model say whether two memories contradict each other.',
  input: z.object({ id_a: fields.memoryId, id_b: fields.memoryId }),
  output: z.object({ contradicts: z.boolean(), memory_a: named, memory_b: named }),
  effect: 'read',
  openWorld: true,
  guards: {},
  mcp: { description: 'Have a chat model say whether two memories contradict each other.' },
  run: async (call, { id_a, id_b }) => {
    const [one, other] = await Promise.all([readMemory(call, id_a), readMemory(call, id_b)]);
    if (!one.ok) return failed(one.error);
    if (!other.ok) return failed(other.error);
    if (one.value.id === other.value.id) {
      return fail('VALIDATION_FAILED', 'id_b: must be another memory than id_a', { fields: ['id_b'] });
    }
    const asked = await askModel(call, contradictionQuestion(one.value, other.value));
    if (!asked.ok) return failed(asked.error);
    const shown = ({ id, title }: MemoryRow) => ({ id, title });
    return ok({ contradicts: asked.value, memory_a: shown(one.value), memory_b: shown(other.value) });
  },
});
