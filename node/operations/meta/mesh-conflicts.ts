import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const CONFLICTS = 50;
const CONFLICTS_MAX = 200;
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
