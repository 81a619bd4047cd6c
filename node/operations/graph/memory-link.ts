import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { RELATIONS } from '../../../protocol/links/link.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { namedMemory } from '../shared/hooked.js';
import { resolveId } from '../shared/resolve-id.js';
import { attestedLinks, linkAnswer } from './attested-links.js';
import { LINK_ALIASES, relation, sourceId, targetId } from './link-fields.js';
import { observedLink } from './observed-link.js';

const input = z.object({
  source_id: sourceId,
  target_id: targetId,
  relation: relation.default('related_to'),
  valid_from: fields.beginning.describe('When it began to hold; now unless given').optional(),
  valid_until: fields.instant.describe('When it stops to hold; open unless given').optional(),
  recall_id: fields.recallId.optional(),
});

type Input = z.output<typeof input>;

/** Links two memories (interface §4.5, POST /links). */
export const memoryLink = defineOperation({
  name: 'memory_link',
  family: 'graph',
  summary: 'Link two memories; a link that holds already stays as it is.',
  input,
  output: z.object({
    linked: z.literal(true),
    created: z.boolean().describe('False for a link that was there'),
    source_id: z.string(),
    target_id: z.string(),
    relation: z.enum(RELATIONS),
    valid_from: z.string().nullable(),
    valid_until: z.string().nullable(),
    attest_level: z.string(),
    target_valid_until: z
      .string()
      .describe('When the superseded memory stops to hold, where this link said so')
      .optional(),
    invalidation_notified: z
      .array(z.string())
      .describe('Memories whose owners were told that the reflection was superseded on which they reflect'),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  delegable: 'by-namespace',
  http: [
    {
      ...{ method: 'POST', path: '/links', fields: 'body', aliases: LINK_ALIASES, status: 201 },
      omit: ['recall_id'],
    },
  ],
  mcp: {
    description:
      'Connect two memories by a relation, for example when one replaces (supersedes) or contradicts the other.',
  },
  cli: {
    command: 'link',
    positionals: ['source_id', 'target_id'],
    short: { r: 'relation' },
    omit: ['recall_id'],
    view: 'message',
    message: ({
      source_id,
      relation,
      target_id,
      created,
      invalidation_notified: notified,
      target_valid_until: ends,
    }) => {
      const told = (notified as readonly string[]).join(', ');
      const line = `${created === true ? 'linked' : 'linked already'}: ${source_id} ${relation} ${target_id}`;
      const until = ends === undefined ? '' : `; it holds until ${ends}`;
      return told === ''
        ? `${line}${until}`
        : `${line}${until}; told the owners of ${told}, which reflect on it`;
    },
    examples: ['link 3f2a 9b1c --relation depends_on'],
  },
  hooks: aroundOperation({
    look: (call, { source_id }: Input) => namedMemory(call, source_id),
    pre: [
      {
        event: 'pre_link',
        firings: ({ source_id, target_id, relation: kind }, source) =>
          source === null
            ? []
            : [{ namespace: source.namespace, payload: { source_id, target_id, relation: kind } }],
        apply: (asked, delta) => ({ ...asked, ...delta }),
      },
    ],
  }),
  run: link,
});

async function link(call: Call, asking: Input) {
  const source = await resolveId(call, asking.source_id);
  if (!source.ok) return failed(source.error);
  const target = await resolveId(call, asking.target_id);
  if (!target.ok) return failed(target.error);
  const asked = { valid_from: asking.valid_from ?? null, valid_until: asking.valid_until ?? null };
  const validFrom = asked.valid_from ?? call.now;
  if (asked.valid_until !== null && asked.valid_until < validFrom) {
    const message = 'valid_until: lies before valid_from, which is now unless given';
    return fail('VALIDATION_FAILED', message, { fields: ['valid_until'] });
  }
  const ends = { source_id: source.value, target_id: target.value, relation: asking.relation };
  const { agentId: by, viewer } = call.caller;
  const wanted = observedLink(call, { ...ends, valid_from: validFrom, valid_until: asked.valid_until });
  const result = await call.services.store.execute({ kind: 'create-link', link: wanted, asked, viewer, by });
  if (!result.ok) return failed(result.error);
  const { change, link: stands } = result.value;
  if (change === 'refused') {
    const message = 'the link would close a cycle of reflections: the target reflects on the source';
    return fail('REFLECTION_CYCLE_DETECTED', message, { ...ends });
  }
  if (asking.recall_id !== undefined) {
    call.services.touches.consume({
      recallId: asking.recall_id,
      agentId: viewer.all ? null : by,
      memoryId: source.value,
      consumedAt: call.now,
    });
  }
  const [attested] = await attestedLinks(call, [stands]);
  return ok({ linked: true as const, ...linkAnswer(result.value, attested!) });
}
