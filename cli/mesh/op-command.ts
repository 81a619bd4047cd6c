import { OPERATIONS_PATH, type OperationStatus } from '../../node/mesh/mesh-answers.js';
import { fail, failed, ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { withLocalNode } from '../local-node.js';
import { seamsOf, shown } from './mesh-parts.js';
import { DAEMON_FLAGS, daemonSettings } from './status-query.js';

/** Shows an operation of the log, and which nodes have it. */
export const opCommand = defineCommand({
  name: 'mesh op',
  summary:
    'Show an operation: its author, time and subject, whether it took effect here, and which nodes have it.',
  positionals: [
    {
      name: 'op-id',
      doc: 'Id of an operation, from an answer that missed its quorum, or of a memory: then its last operation',
    },
  ],
  flags: DAEMON_FLAGS,
  examples: ['mesh op peer-0011223344556677/6f1c…/42', 'mesh op 2f6c0d1e-…'],
  run: async (parsed, terminal) => {
    const settings = daemonSettings(parsed);
    if (!settings.ok) return failed(settings.error);
    return withLocalNode(parsed, async ({ store, peerId }) => {
      const id = parsed.positionals[0]!;
      const found = await store.query({ kind: 'find-operation', opId: id });
      if (!found.ok) return failed(found.error);
      const operation = found.value;
      if (operation === null)
        return fail(
          'NOT_FOUND',
          `this log has neither an operation ${id} nor an operation about a memory ${id}`,
        );
      // Its HTTP client is expensive to load, and every help loads the commands.
      const { askDaemon } = await import('../../node/mesh/ask-daemon.js');
      const { MeshState } = await import('../../node/mesh/forming/mesh-state.js');
      const seams = seamsOf(parsed);
      const state = new MeshState(settings.value.home, seams);
      state.reload();
      const asked = { ...seams, settings: settings.value, peerId, formed: state.formed };
      const path = `${OPERATIONS_PATH}/${encodeURIComponent(operation.op_id)}`;
      const status = (await askDaemon(asked, path)) as OperationStatus | null;
      const where =
        status === null
          ? { replication: 'unknown: the daemon of this node does not answer' }
          : {
              acks: status.acks,
              needed: status.needed,
              met: status.met,
              acknowledgements: status.acknowledgements,
            };
      await terminal.print(shown(parsed, terminal, { ...operation, ...where }));
      return ok(0);
    });
  },
});
