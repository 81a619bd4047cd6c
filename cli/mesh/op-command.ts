import { fail, failed, ok } from '../../protocol/result.js';
import { defineCommand } from '../define-command.js';
import { withLocalNode } from '../local-node.js';
import { shown } from './mesh-parts.js';

/** Shows an operation of the log. */
export const opCommand = defineCommand({
  name: 'mesh op',
  summary: 'Show an operation: who made it, when, on what, and whether it took effect here.',
  positionals: [{ name: 'op-id', doc: 'The operation, as an answer that missed its quorum names it' }],
  examples: ['mesh op peer-0011223344556677/6f1c…/42'],
  run: (parsed, terminal) =>
    withLocalNode(parsed, async ({ store }) => {
      const opId = parsed.positionals[0]!;
      const found = await store.query({ kind: 'find-operation', opId });
      if (!found.ok) return failed(found.error);
      if (found.value === null) return fail('NOT_FOUND', `there is no operation ${opId} in this log`);
      await terminal.print(shown(parsed, terminal, { ...found.value }));
      return ok(0);
    }),
});
