import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { examination } from '../../pipeline/examination.js';
import { defineOperation } from '../../pipeline/operation.js';

/** What "mnemesh doctor" finds, over HTTP for the console. The files of the node are read, so only admins ask. */
export const nodeDoctor = defineOperation({
  name: 'node_doctor',
  family: 'meta',
  summary: 'Examine the files, the keys and the configuration of the node, as "mnemesh doctor" does.',
  input: z.object({}),
  output: examination,
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/doctor', fields: 'query' }],
  run: async ({ services: { examine } }) => {
    if (examine === undefined)
      return fail(
        'UNAVAILABLE',
        'this process does not examine its node: run "mnemesh doctor" on its machine',
      );
    const found = await examine();
    return found.ok ? ok(found.value) : failed(found.error);
  },
});
