import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { instantAfter } from '../../../protocol/base/time.js';
import type { MemoryPatch } from '../../../protocol/memory/update.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { carriedTexts } from '../shared/carried-texts.js';
import { given, namedMemory, textsBeside } from '../shared/hooked.js';
import { resolveId } from '../shared/resolve-id.js';
import { shownMemory } from '../shared/shown-memories.js';

const clearable = (instant: typeof fields.instant) =>
  z.union([z.null(), z.enum(['', 'null']).transform(() => null), instant]);

const input = z.object({
  id: fields.memoryId,
  title: fields.title.optional(),
  content: fields.content.optional(),
  tier: fields.tier.optional(),
  namespace: fields.namespace.optional(),
  tags: fields.tags.optional(),
  priority: fields.priority.optional(),
  confidence: fields.confidence.optional(),
  expires_at: clearable(fields.comingInstant)
    .describe('RFC 3339 instant; null, "" or "null" clears it')
    .optional(),
  valid_from: clearable(fields.beginning).describe('Since when it holds; null opens it').optional(),
  valid_until: clearable(fields.beginning).describe('Until when it holds; null opens it').optional(),
  metadata: fields.metadata.optional(),
  source_uri: fields.sourceUri.optional(),
  kind: fields.kind.optional(),
  source: fields.source.optional(),
  scope: fields.scope.optional(),
  citations: fields.citations.optional(),
  source_span: fields.sourceSpan.optional(),
  entity_id: fields.entityId.optional(),
  ttl_secs: fields.ttlSecs.optional(),
  agent_id: fields.agentId.describe('Who makes the update; the caller unless given').optional(),
  expected_version: fields.expectedVersion.optional(),
  edit_source: z
    .enum(['human', 'llm', 'hook'])
    .default('human')
    .describe(
      'Who edits. For llm and hook the memory goes to the archive as it is, and the changed one gets a new id',
    ),
});

type Input = z.output<typeof input>;

/** Changes some fields of a memory (interface §4.2, PUT /memories/{id}). */
export const memoryUpdate = defineOperation({
  name: 'memory_update',
  family: 'lifecycle',
  summary: 'Change some fields of a memory.',
  input,
  output: z.object({
    updated: z.boolean(),
    edit_source: z.string(),
    memory: fields.memoryOutput,
    superseded_id: z.string().describe('The memory as it was, in the archive').optional(),
    new_id: z.string().describe('The changed memory, which supersedes it').optional(),
  }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  placed: async (call, { id, namespace }) => {
    if (namespace !== undefined) return namespace;
    const found = await namedMemory({ ...call, services: call.services }, id);
    return found.ok ? (found.value?.namespace ?? null) : null;
  },
  carries: async (call, { id, namespace }) =>
    namespace === undefined ? [] : await carriedTexts(call, [id], namespace),
  delegable: 'by-namespace',
  http: [
    {
      method: 'PUT',
      path: '/memories/{id}',
      fields: 'body',
      headers: { 'if-match': 'expected_version' },
      // Its answer is only the memory, which has no place for the new id.
      omit: ['expected_version', 'entity_id', 'edit_source'],
      aliases: { memory_kind: 'kind' },
      // The memory without an envelope, as in the reference (reference-http §1, row 9).
      shape: (output) => output['memory'] as Record<string, unknown>,
      output: fields.memoryOutput,
    },
  ],
  mcp: {
    description:
      'Change or correct a memory by its id: its text, title, tags, priority or other fields; the rest stays. Answers the new version.',
    omit: ['ttl_secs', 'entity_id'],
    aliases: { memory_kind: 'kind' },
  },
  cli: {
    command: 'update',
    positionals: ['id'],
    short: { T: 'title', c: 'content', t: 'tier', n: 'namespace', p: 'priority', S: 'source' },
    stdin: ['content'],
    view: 'message',
    message: (output) => {
      const memory = output['memory'] as { id: string; version: number };
      if (output['superseded_id'] !== undefined)
        return `stored: ${memory.id}, which supersedes ${output['superseded_id']} (in the archive)`;
      return `updated: ${memory.id} (version ${memory.version})`;
    },
    examples: [
      'update 3f2a --priority 8',
      'update 3f2a --title "Deploy window" --content "Mondays, 02:00 to 04:00 UTC"',
    ],
  },
  // A guard of what is stored would be passed by without it.
  hooks: aroundOperation({
    look: (call, { id }: Input) => namedMemory(call, id),
    pre: [
      {
        event: 'pre_store',
        firings: (fieldsIn, memory) =>
          memory === null
            ? []
            : [{ namespace: fieldsIn.namespace ?? memory.namespace, payload: deltaOf(fieldsIn) }],
        apply: (asked, delta) => ({ ...asked, ...delta }),
      },
    ],
  }),
  run: async (call, fieldsIn) => {
    const { id, expected_version, agent_id, edit_source: by, ttl_secs: ttlSecs, ...given } = fieldsIn;
    // As in a store, an instant takes precedence over a time to live.
    const changes =
      ttlSecs === undefined || given.expires_at !== undefined
        ? given
        : { ...given, expires_at: instantAfter(call.now, ttlSecs) };
    const claimed = changes.metadata?.['agent_id'];
    if (call.surface === 'http' && claimed !== undefined && claimed !== call.caller.agentId) {
      return fail(
        'agent_id_body_header_mismatch',
        'metadata.agent_id does not match the authenticated caller',
      );
    }
    return update(call, id, patchOf(changes), { expected: expected_version ?? null, by });
  },
});

/** What changes, as far as hooks may rewrite it. */
function deltaOf(fieldsIn: Input) {
  const { tier, namespace, title, content, tags, priority, confidence, source, expires_at, metadata } =
    fieldsIn;
  return {
    ...given({ tier, namespace, title, content, tags, priority, confidence, source, expires_at, metadata }),
    ...textsBeside(fieldsIn),
  };
}

async function update(
  call: Call,
  prefix: string,
  patch: MemoryPatch,
  { expected, by }: { readonly expected: number | null; readonly by: Input['edit_source'] },
) {
  if (Object.keys(patch).length === 0)
    return fail('VALIDATION_FAILED', 'the request names no field to change');
  const id = await resolveId(call, prefix);
  if (!id.ok) return failed(id.error);
  const result = await call.services.store.execute({
    kind: 'update-memory',
    id: id.value,
    patch,
    expectedVersion: expected,
    viewer: call.caller.viewer,
    archive: call.services.settings.archiveOnGc,
    ...(by === 'human' ? {} : { newId: call.services.random.uuid() }),
  });
  if (!result.ok) return failed(result.error);
  const memory = await shownMemory(call, result.value.memory);
  const replaced = by === 'human' ? {} : { superseded_id: id.value, new_id: result.value.memory.id };
  return ok({ updated: true, edit_source: by, memory, ...replaced });
}

/** Only the given fields; an absent one must not overwrite. */
function patchOf(
  changes: Omit<Input, 'id' | 'expected_version' | 'agent_id' | 'ttl_secs' | 'edit_source'>,
): MemoryPatch {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}
