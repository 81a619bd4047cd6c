import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import { defineOperation } from '../../pipeline/operation.js';
import { resolveId } from '../shared/resolve-id.js';
import { LINK_ALIASES, relation, sourceId, targetId } from './link-fields.js';

/** Deletes links between two memories (interface §4.5, DELETE /links). Only on HTTP. */
export const memoryUnlink = defineOperation({
  name: 'memory_unlink',
  family: 'graph',
  summary: 'Delete the link of one relation from one memory to another, or of all relations.',
  input: z.object({
    source_id: sourceId,
    target_id: targetId,
    relation: relation.describe('Only the link of this relation').optional(),
  }),
  output: z.object({ deleted: z.int() }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  delegable: 'by-namespace',
  http: [{ method: 'DELETE', path: '/links', fields: 'body', aliases: LINK_ALIASES }],
  run: async (call, input) => {
    const ends: string[] = [];
    for (const id of [input.source_id, input.target_id]) {
      const end = await resolveId(call, id);
      // A link to what is not there is not there either.
      if (!end.ok && end.error.code === 'NOT_FOUND') return ok({ deleted: 0 });
      if (!end.ok) return failed(end.error);
      ends.push(end.value);
    }
    const [sourceId, targetId] = ends as [string, string];
    const { viewer } = call.caller;
    const named = { sourceId, targetId, relation: input.relation ?? null };
    const result = await call.services.store.execute({ kind: 'drop-links', ...named, viewer });
    return result.ok ? ok({ deleted: result.value.dropped.length }) : failed(result.error);
  },
});
