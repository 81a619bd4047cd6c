import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { RELATIONS } from '../../../protocol/links/link.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { resolveId } from '../shared/resolve-id.js';
import { relation, sourceId, targetId } from './link-fields.js';

/** Says that a link no longer holds; it stays for questions about the past (interface §4.5, POST /kg/invalidate). */
export const memoryKgInvalidate = defineOperation({
  name: 'memory_kg_invalidate',
  family: 'graph',
  summary: 'End the validity of a link; the link stays, and questions about the past still see it.',
  input: z.object({
    source_id: sourceId,
    target_id: targetId,
    relation,
    valid_until: fields.pastInstant.describe('When it stopped to hold; now unless given').optional(),
  }),
  output: z.object({
    found: z.literal(true),
    changed: z.boolean().describe('False for a link that was invalidated with this end before'),
    source_id: z.string(),
    target_id: z.string(),
    relation: z.enum(RELATIONS),
    valid_until: z.string().nullable(),
    previous_valid_until: z.string().nullable(),
  }),
  effect: 'write',
  overwrites: true,
  quorum: 'none',
  guards: { attestation: 'by-name' },
  delegable: 'by-namespace',
  http: [{ method: 'POST', path: '/kg/invalidate', fields: 'body' }],
  mcp: { description: 'End a link that is no longer true. It stays for questions about the past.' },
  cli: {
    command: 'kg-invalidate',
    view: 'message',
    message: ({ source_id, relation, target_id, changed, valid_until }) =>
      `${changed === true ? 'invalidated' : 'invalidated before'}: ${source_id} ${relation} ${target_id} until ${valid_until}`,
    examples: ['kg-invalidate --source-id 3f2a --target-id 9b1c --relation depends_on'],
  },
  run: async (call, input) => {
    const missing = fail('NOT_FOUND', 'link not found', {
      ...{ found: false, source_id: input.source_id, target_id: input.target_id, relation: input.relation },
    });
    const ends: string[] = [];
    for (const id of [input.source_id, input.target_id]) {
      const end = await resolveId(call, id);
      if (!end.ok) return end.error.code === 'NOT_FOUND' ? missing : failed(end.error);
      ends.push(end.value);
    }
    const key = { source_id: ends[0]!, target_id: ends[1]!, relation: input.relation };
    const { agentId: by, viewer } = call.caller;
    const validUntil = input.valid_until ?? null;
    const result = await call.services.store.execute({
      ...{ kind: 'invalidate-link', link: key, validUntil, viewer, by },
    });
    if (!result.ok) return result.error.code === 'NOT_FOUND' ? missing : failed(result.error);
    const { change, link, previous } = result.value;
    return ok({
      found: true as const,
      changed: change === 'invalidated',
      ...key,
      valid_until: link.valid_until,
      previous_valid_until: previous,
    });
  },
});
