import { z } from 'zod';
import { OPERATION_ID_LENGTH_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { MemoryVersion } from '../../../protocol/memory/queries.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { type FieldChange, fieldChanges } from './version-changes.js';

const VERSIONS = 20;
/** So many of the longest memories fit into one answer. */
const VERSIONS_MAX = 100;

const named = fields.versionName(OPERATION_ID_LENGTH_MAX);

/** The versions of a memory, and what changed between two of them. */
export const memoryHistory = defineOperation({
  name: 'memory_history',
  family: 'lifecycle',
  summary: 'List the versions of a memory, the newest first, and compare two of them.',
  input: z.object({
    id: fields.memoryId,
    limit: fields.listLimit(VERSIONS, VERSIONS_MAX, 'versions'),
    from: named.describe('Compare from this version; the one before "to" unless given').optional(),
    to: named.describe('Compare up to this version; the newest unless given').optional(),
  }),
  output: z.object({
    id: z.string(),
    versions: z.array(
      z.object({
        op_id: z.string().describe('Give it as `to` to undo up to this version'),
        change: z.string().describe('store, update, promote or restore'),
        at: z.string(),
        node: z.string().describe('The node that wrote it'),
        version: z.int().nullable(),
        agent_id: z.string().nullable().describe('The agent in whose name it stood then'),
        title: z.string().nullable(),
        memory: z
          .looseObject({
            title: z.string(),
            content: z.string(),
            namespace: z.string(),
            tier: z.string(),
            kind: z.string(),
            tags: z.array(z.string()),
            priority: z.number(),
            agent_id: z.string().nullable(),
            expires_at: z.string().nullable(),
            valid_from: z.string().nullable(),
            valid_until: z.string().nullable(),
          })
          .nullable()
          .describe('Null where the log dropped it, or the caller could not see the memory then'),
      }),
    ),
    count: z.int(),
    changes: z
      .array(z.object({ field: z.string(), before: z.unknown(), after: z.unknown() }))
      .describe('What differs between the two versions that are compared')
      .optional(),
    ...fields.listEnd,
  }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  http: [{ method: 'GET', path: '/memories/{id}/history', fields: 'query' }],
  mcp: {
    description:
      'What a memory said before: its versions with their times and writers, or with from and to what changed between two of them.',
  },
  cli: {
    command: 'history',
    positionals: ['id'],
    view: 'object',
    table: {
      version: 'VERSION',
      change: 'CHANGE',
      at: 'AT',
      agent_id: 'AGENT',
      node: 'NODE',
      title: 'TITLE',
      field: 'FIELD',
      before: 'BEFORE',
      after: 'AFTER',
    },
    examples: ['history 3f2a', 'history 3f2a --from 1 --to 3'],
  },
  run: async (call, { id, limit, from, to }) => {
    const { viewer } = call.caller;
    const compares = from !== undefined || to !== undefined;
    const found = await call.services.store.query({
      kind: 'memory-history',
      id,
      limit: compares ? VERSIONS_MAX : limit,
      viewer,
      now: call.now,
    });
    if (!found.ok) return failed(found.error);
    const { versions, truncated } = found.value;
    const compared = compares ? comparison(versions, from, to) : null;
    if (compared?.ok === false) return failed(compared.error);
    const listed = compared === null ? versions : compared.value.versions;
    return ok({
      id: found.value.id,
      versions: listed.map(shown),
      count: listed.length,
      ...(compared === null ? {} : { changes: [...compared.value.changes] }),
      ...(truncated && !compares ? { truncated: true as const } : {}),
    });
  },
});

/** Two of the versions, the newer one first, and what differs. */
function comparison(
  versions: readonly MemoryVersion[],
  from: string | undefined,
  to: string | undefined,
): Result<{ readonly versions: readonly MemoryVersion[]; readonly changes: readonly FieldChange[] }> {
  const newer = to === undefined ? 0 : placeOf(versions, to);
  const older = from === undefined ? newer + 1 : placeOf(versions, from);
  for (const [place, name, field] of [
    [newer, to ?? 'the newest', 'to'],
    [older, from ?? 'the one before', 'from'],
  ] as const) {
    const memory = versions[place]?.memory ?? null;
    if (place < 0 || memory === null) {
      const message = `${field}: there is no version "${name}" that is kept and that you may see`;
      return fail('NOT_FOUND', message);
    }
  }
  const [before, after] = [versions[older]!, versions[newer]!];
  return ok({ versions: [after, before], changes: fieldChanges(before.memory!, after.memory!) });
}

const placeOf = (versions: readonly MemoryVersion[], name: string): number =>
  versions.findIndex(({ op_id, memory }) => op_id === name || String(memory?.version) === name);

function shown({ memory, ...version }: MemoryVersion) {
  if (memory === null) return { ...version, version: null, agent_id: null, title: null, memory };
  const { title, content, namespace, tier, kind, tags, priority, expires_at, metadata } = memory;
  const { valid_from, valid_until } = memory;
  const agent = metadata['agent_id'];
  const agent_id = typeof agent === 'string' ? agent : null;
  return {
    ...version,
    ...{ version: memory.version, agent_id, title },
    memory: {
      ...{ title, content, namespace, tier, kind, tags: [...tags], priority, expires_at },
      ...{ valid_from, valid_until, agent_id },
    },
  };
}
