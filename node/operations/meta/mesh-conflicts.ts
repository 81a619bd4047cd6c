import { z } from 'zod';
import { OPERATION_ID_LENGTH_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { memoryKind } from '../../../protocol/memory/memory-kind.js';
import { rulingViewer } from '../../identity/caller.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { shownMemory } from '../shared/shown-memories.js';

const CONFLICTS = 50;
const CONFLICTS_MAX = 200;
/** Among which one is found that is to be taken back. */
const CONFLICTS_SEARCHED_MAX = 1000;
const contents = z.looseObject({}).nullable();

/** What "mesh conflicts" shows, over HTTP for the console. */
export const meshConflicts = defineOperation({
  name: 'mesh_conflicts',
  family: 'meta',
  summary: 'List edits that lost against one made at the same time on another node, with both texts.',
  input: z.object({
    limit: fields.listLimit(CONFLICTS, CONFLICTS_MAX, 'conflicts'),
    all: z.boolean().default(false).describe('Also edits that were taken back since'),
  }),
  output: z.object({
    conflicts: z.array(
      z.object({
        kind: z.enum(['version', 'title']).describe('title: another row holds the title'),
        of: z.string().describe('The kind of the subject'),
        subject: z.string(),
        namespace: z.string(),
        op_id: z.string().nullable().describe('The operation that lost'),
        winner: z.string(),
        lost_at: z.string().nullable(),
        lost_by: z.string().nullable(),
        lost: contents,
        present: contents,
        taken: z.boolean().describe('The lost text was written again since'),
      }),
    ),
    count: z.int(),
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/conflicts', fields: 'query' }],
  run: async (call, { limit, all }) => {
    const found = await call.services.store.query({ kind: 'list-conflicts', limit, open: !all });
    if (!found.ok) return failed(found.error);
    const conflicts = found.value.slice(0, limit).map((conflict) => ({ ...conflict }));
    return ok({ conflicts, count: conflicts.length });
  },
});

/** What "mesh conflicts take" does, over HTTP for the console: admins take back edits of all agents, as the operator does. */
export const meshConflictTake = defineOperation({
  name: 'mesh_conflict_take',
  family: 'meta',
  summary: 'Write an edit that lost again, as an ordinary edit of its memory, which all nodes get.',
  input: z.object({
    id: fields.memoryId,
    op_id: z.string().max(OPERATION_ID_LENGTH_MAX).describe('The operation that lost, of a listed conflict'),
  }),
  output: z.object({
    taken: z.literal(true),
    changed: z.array(z.string()),
    memory: fields.memoryOutput,
  }),
  effect: 'write',
  overwrites: true,
  guards: { admin: true, attestation: 'by-name' },
  http: [{ method: 'POST', path: '/conflicts/take', fields: 'body' }],
  run: async (call, { id, op_id }) => {
    const { store, settings } = call.services;
    const found = await store.query({ kind: 'list-conflicts', limit: CONFLICTS_SEARCHED_MAX, open: true });
    if (!found.ok) return failed(found.error);
    const listed = found.value.find((each) => each.subject === id && each.op_id === op_id);
    if (listed?.of !== memoryKind.name)
      return fail('NOT_FOUND', `there is no open conflict of the memory ${id} with the operation ${op_id}`);
    const undone = await store.execute({
      ...{ kind: 'undo-edit', id, to: op_id, dryRun: false, archive: settings.archiveOnGc },
      viewer: rulingViewer(call.caller),
    });
    if (!undone.ok) return failed(undone.error);
    const { memory, changed } = undone.value;
    return ok({ taken: true as const, changed: [...changed], memory: await shownMemory(call, memory) });
  },
});
