import { z } from 'zod';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { standardOutput, standardsOf } from './memory-namespace-standard.js';

/** Lists the namespaces, or shows the standard of one (interface §4.7, GET /namespaces). */
export const memoryNamespaces = defineOperation({
  name: 'memory_namespaces',
  family: 'governance',
  summary: 'List the namespaces with their number of memories; with a namespace, show its standard.',
  input: z.object({
    namespace: fields.namespace.describe('Show the standard of this namespace instead').optional(),
    inherit: z.boolean().default(false).describe('Show the standards of its whole chain'),
  }),
  output: z.union([z.object({ namespaces: z.array(fields.namespaceCount) }), standardOutput]),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  http: [{ method: 'GET', path: '/namespaces', fields: 'query' }],
  cli: {
    command: 'namespaces',
    omit: ['namespace', 'inherit'],
    view: 'object',
    table: { namespace: 'NAMESPACE', count: 'MEMORIES' },
    examples: ['namespaces'],
  },
  run: async (call, { namespace, inherit }) => {
    if (namespace !== undefined) return standardsOf(call, namespace, inherit);
    const viewer = listViewer(call);
    if (!viewer.ok) return failed(viewer.error);
    const result = await call.services.store.query({
      kind: 'count-namespaces',
      prefix: null,
      viewer: viewer.value,
      now: call.now,
    });
    if (!result.ok) return failed(result.error);
    const namespaces = result.value.namespaces.map((row) => ({ ...row }));
    return ok({ namespaces: namespaces.sort((a, b) => b.count - a.count) });
  },
});

/** Only admins list namespaces over HTTP (interface §5.4); a local caller sees those of its visible rows. */
function listViewer({ surface, caller }: ReadCall): Result<Viewer> {
  if (surface !== 'http') return ok(caller.viewer);
  return caller.admin ? ok({ ...caller.viewer, all: true }) : fail('ADMIN_REQUIRED', 'admin role required');
}
