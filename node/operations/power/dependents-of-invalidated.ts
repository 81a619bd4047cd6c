import { z } from 'zod';
import { failed } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import type { Picture } from '../../pipeline/pictures.js';
import { boundedAnswer } from '../shared/traversal.js';

const output = z.object({
  memory_id: z.string(),
  title: z.string(),
  dependents: z.array(z.object({ id: z.string(), namespace: z.string(), title: z.string() })),
  count: z.int(),
  ...fields.listEnd,
});

/** The memories to look at again when one is superseded (interface §4.12, reference-mcp-cli §6.1). */
export const dependentsOfInvalidated = defineOperation({
  name: 'memory_dependents_of_invalidated',
  family: 'power',
  summary: 'List the memories that reflect on one, which may be wrong when it is superseded.',
  input: z.object({ memory_id: fields.memoryId, format: fields.pictureFormat.default('json') }),
  output,
  effect: 'read',
  guards: {},
  picture: dependentsPicture,
  http: [{ method: 'POST', path: '/memory_dependents_of_invalidated', fields: 'body' }],
  mcp: { description: 'List reflections that build on a memory, and may be wrong once it is superseded.' },
  cli: {
    command: 'dependents-of-invalidated',
    positionals: ['memory_id'],
    view: 'tree',
    examples: ['dependents-of-invalidated 3f2a'],
  },
  run: async (call, { memory_id: id }) => {
    const { viewer } = call.caller;
    const found = await call.services.store.query({ kind: 'list-dependents', id, viewer, now: call.now });
    if (!found.ok) return failed(found.error);
    const { root, dependents } = found.value;
    return boundedAnswer(found.value, {
      memory_id: root.id,
      title: root.title,
      dependents: dependents.map((memory) => ({ ...memory })),
      count: dependents.length,
    });
  },
});

function dependentsPicture({ memory_id: root, title, dependents }: z.output<typeof output>): Picture {
  return {
    nodes: [{ id: root, label: title }, ...dependents.map(({ id, title: label }) => ({ id, label }))],
    edges: dependents.map(({ id: to }) => ({ from: root, to, label: 'reflects_on', reversed: true })),
  };
}
