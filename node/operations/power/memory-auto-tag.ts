import { z } from 'zod';
import { TAGS_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import { askModel } from '../../pipeline/ask-model.js';
import type { Call } from '../../pipeline/call.js';
import { consulted } from '../../pipeline/consulted.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { readMemory } from '../shared/resolve-id.js';
import { tagQuestion } from './tag-question.js';

/** Adds the tags that a chat model suggests to a memory (reference-mcp-cli §6.4). */
export const memoryAutoTag = defineOperation({
  name: 'memory_auto_tag',
  family: 'power',
  summary: 'Have a chat model add tags to a memory.',
  input: z.object({ id: fields.memoryId }),
  output: z.object({
    id: z.string(),
    new_tags: z.array(z.string()),
    all_tags: z.array(z.string()),
  }),
  effect: 'write',
  openWorld: true,
  guards: { attestation: 'by-name' },
  mcp: { description: 'Tag a memory automatically: a chat model adds tags.' },
  run: async (call, { id }) => {
    const found = await readMemory(call, id);
    if (!found.ok) return failed(found.error);
    const suggested = await askModel(call, tagQuestion(found.value));
    return suggested.ok ? addTags(call, found.value, suggested.value) : failed(suggested.error);
  },
});

/** Suggests tags and stores nothing (interface §4.12, POST /auto_tag). */
export const memorySuggestTags = defineOperation({
  name: 'memory_suggest_tags',
  family: 'power',
  summary: 'Have a chat model suggest tags for a memory or for a text; nothing is stored.',
  input: z.object({
    memory_id: fields.memoryId.optional(),
    title: fields.title.optional(),
    content: fields.content.optional(),
    namespace: fields.namespace.optional(),
  }),
  output: z.object({ tags: z.array(z.string()), memory_id: z.string().nullable() }),
  effect: 'read',
  guards: {},
  http: [{ method: 'POST', path: '/auto_tag', fields: 'body' }],
  run: async (call, { memory_id: prefix, title, content }) => {
    if (prefix === undefined && (title === undefined || content === undefined)) {
      return fail('VALIDATION_FAILED', 'memory_id, or title and content, must be given', {
        fields: ['memory_id', 'title', 'content'],
      });
    }
    const missing = call.services.models.missing('auto_tag');
    if (missing !== null) return failed(missing);
    const found = prefix === undefined ? null : await readMemory(call, prefix);
    if (found?.ok === false) return failed(found.error);
    const text = found === null ? { title: title!, content: content! } : found.value;
    const suggested = await askModel(call, tagQuestion(text));
    if (!suggested.ok) return failed(suggested.error);
    return ok({ tags: [...suggested.value], memory_id: found?.value.id ?? null });
  },
});

/** How often tags are added to a memory that changes meanwhile. */
const ATTEMPTS_MAX = 3;

async function addTags(call: Call, asked: MemoryRow, suggested: readonly string[]) {
  let memory = asked;
  for (let attempt = 1; ; attempt += 1) {
    const { id, namespace, title, content, tags } = memory;
    if (title !== asked.title || content !== asked.content) {
      return fail('CONFLICT', 'the memory was rewritten while the chat model read it: call again');
    }
    const added = suggested
      .filter((tag) => !tags.includes(tag))
      .slice(0, Math.max(0, TAGS_MAX - tags.length));
    const all = [...tags, ...added];
    if (added.length === 0) return ok({ id, new_tags: [], all_tags: all });
    const denial = await consulted(call, 'pre_store', { namespace, payload: { tags: all } });
    if (denial !== null) return failed(denial);
    const stored = await storeTags(call, memory, all);
    if (stored.ok) return ok({ id, new_tags: added, all_tags: all });
    if (stored.error.code !== 'VERSION_CONFLICT' || attempt === ATTEMPTS_MAX) return failed(stored.error);
    const again = await readMemory(call, id);
    if (!again.ok) return failed(again.error);
    memory = again.value;
  }
}

const storeTags = (
  { services, caller }: Call,
  { id, version }: MemoryRow,
  tags: readonly string[],
): Promise<Result<unknown>> =>
  services.store.execute({
    kind: 'update-memory',
    id,
    patch: { tags },
    expectedVersion: version,
    viewer: caller.viewer,
    archive: services.settings.archiveOnGc,
  });
