import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { alias, entityOutput } from './entity-fields.js';

/** The entity with an alias (interface §4.6, GET /entities/by_alias). */
export const memoryEntityGetByAlias = defineOperation({
  name: 'memory_entity_get_by_alias',
  family: 'graph',
  summary: 'Find the entity with a name or an alias.',
  input: z.object({
    alias: alias.describe('Name or alias; case and Unicode form do not count'),
    namespace: fields.namespace
      .describe('Only entities of this namespace; the newest of all namespaces unless given')
      .optional(),
  }),
  output: z.object({
    found: z.boolean(),
    entity_id: entityOutput.shape.entity_id.nullable(),
    canonical_name: entityOutput.shape.canonical_name.nullable(),
    namespace: entityOutput.shape.namespace.nullable(),
    aliases: entityOutput.shape.aliases,
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/entities/by_alias', fields: 'query' }],
  mcp: { description: 'Find who or what is meant by a name or alias: the entity.' },
  cli: {
    command: 'entity-get-by-alias',
    positionals: ['alias'],
    short: { n: 'namespace' },
    view: 'object',
    examples: ['entity-get-by-alias "countess lovelace" --namespace people'],
  },
  run: async (call, { alias: name, namespace = null }) => {
    const { viewer } = call.caller;
    const result = await call.services.store.query({
      kind: 'entity-by-alias',
      alias: name,
      namespace,
      viewer,
      now: call.now,
    });
    if (!result.ok) return failed(result.error);
    const { entity } = result.value;
    return entity === null
      ? ok({ found: false, entity_id: null, canonical_name: null, namespace: null, aliases: [] })
      : ok({ found: true, ...entity, aliases: [...entity.aliases] });
  },
});
