import { fail, failed, ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { flagValue } from '../global-flags.js';
import { withLocalNode } from '../local-node.js';
import { shown } from './mesh-parts.js';

const LIMIT = 50;
const LIMIT_MAX = 1000;

/** Lists versions that lost against one that was written at the same time. */
export const conflictsCommand = defineCommand({
  name: 'mesh conflicts',
  summary:
    'List versions that lost against a version written at the same time on another node, and rows that share a title.',
  flags: [
    {
      name: 'limit',
      short: 'n',
      kind: 'value',
      value: 'number',
      doc: `At most this many (default ${LIMIT})`,
    },
  ],
  examples: ['mesh conflicts', 'mesh conflicts --limit 500 --json'],
  run: (parsed, terminal) =>
    withLocalNode(parsed, async ({ store }) => {
      const text = flagValue(parsed, 'limit') ?? String(LIMIT);
      const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
      if (limit < 1 || limit > LIMIT_MAX) {
        return fail('VALIDATION_FAILED', `--limit must be a number from 1 to ${LIMIT_MAX}`, {
          fields: ['limit'],
        });
      }
      const found = await store.query({ kind: 'list-conflicts', limit });
      if (!found.ok) return failed(found.error);
      await terminal.print(shown(parsed, terminal, { count: found.value.length, conflicts: found.value }));
      return ok(0);
    }),
});
