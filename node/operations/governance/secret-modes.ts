import { z } from 'zod';
import { ok } from '../../../protocol/base/result.js';
import { SECRET_MODES } from '../../../protocol/policies/secret-modes.js';
import { defineOperation } from '../../pipeline/operation.js';

const mode = z.enum(SECRET_MODES);

/** What this node does with secrets. Only over HTTP, for the console; `config show` and the metrics say the same elsewhere. */
export const secretModes = defineOperation({
  name: 'secret_modes',
  family: 'governance',
  summary: 'Show what this node does with secrets, by namespace.',
  input: z.object({}),
  output: z.object({
    mode: mode.describe('Where no pattern fits'),
    namespaces: z
      .array(z.object({ namespace_pattern: z.string(), mode }))
      .describe('The most exact pattern counts'),
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/secrets', fields: 'query' }],
  run: async ({ services: { settings } }) =>
    ok({
      mode: settings.secretsMode,
      namespaces: settings.secretsNamespaces.map(({ namespacePattern, mode: of }) => ({
        namespace_pattern: namespacePattern,
        mode: of,
      })),
    }),
});
