import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import { personaOf } from '../../../protocol/personas/persona.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

export const personaOutput = z.object({
  id: z.string(),
  entity_id: z.string(),
  namespace: z.string(),
  body_md: z.string(),
  sources: z.array(z.string()),
  generated_at: z.string(),
  version: z.number(),
  attest_level: z
    .enum(['self_signed', 'unsigned', 'invalid'])
    .describe('invalid: the signature is not of this text, which was changed'),
});

/** The newest persona of an entity (interface §4.14, reference-mcp-cli §6.2). */
export const memoryPersona = defineOperation({
  name: 'memory_persona',
  family: 'power',
  summary:
    'Show the newest persona of an entity: a profile that a chat model wrote of the reflections about it.',
  input: z.object({ entity_id: fields.entityId, namespace: fields.namespace.default('global') }),
  output: z.object({ persona: personaOutput.nullable() }),
  effect: 'read',
  guards: {},
  mcp: { description: 'Show the profile (persona) of a person, customer or other entity.' },
  run: async ({ services, caller, now }, { entity_id: entityId, namespace }) => {
    const { viewer } = caller;
    const found = await services.store.query({ kind: 'persona-of', entityId, namespace, viewer, now });
    if (!found.ok) return failed(found.error);
    const { memory } = found.value;
    if (memory === null) return ok({ persona: null });
    const persona = personaOf(memory, services.crypto);
    return ok({ persona: { ...persona, sources: [...persona.sources] } });
  },
});
