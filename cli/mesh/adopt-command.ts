import { MeshFolder } from '../../node/mesh/forming/mesh-folder.js';
import { operatorView } from '../../node/transfer/operator-view.js';
import { fail, failed, ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { isSet } from '../global-flags.js';
import { withLocalNode } from '../local-node.js';
import { NODE_POSITIONAL, peerNamed, seamsOf, shown } from './mesh-parts.js';
import { DAEMON_FLAGS, daemonSettings } from './status-query.js';

/** Makes this node the home of a lost node's subjects. */
export const adoptCommand = defineCommand({
  name: 'mesh adopt',
  summary: 'Make this node the home of all subjects of a lost node; it then decides about them.',
  positionals: [NODE_POSITIONAL],
  flags: [
    { name: 'yes', kind: 'switch', doc: 'Adopt it even though it answered a short while ago' },
    ...DAEMON_FLAGS,
  ],
  examples: ['mesh adopt lab-2', 'mesh adopt peer-0011223344556677'],
  run: async (parsed, terminal) => {
    const settings = daemonSettings(parsed);
    if (!settings.ok) return failed(settings.error);
    const named = peerNamed(new MeshFolder(settings.value.home), seamsOf(parsed), parsed.positionals[0]!);
    if (!named.ok) return failed(named.error);
    const peerId = named.value;
    return withLocalNode(parsed, async ({ store, peerId: self }, caller) => {
      const permitted = operatorView(caller);
      if (!permitted.ok) return failed(permitted.error);
      // Its HTTP client is expensive to load, and every help loads the commands.
      const { lookBeforeAdoption } = await import('../../node/mesh/before-adoption.js');
      const parts = { ...seamsOf(parsed), settings: settings.value, peerId: self };
      const peer = await lookBeforeAdoption(parts, peerId);
      if (!peer.ok) return failed(peer.error);
      const { answeredAt, asked } = peer.value;
      if (answeredAt !== null && !isSet(parsed, 'yes')) {
        return fail(
          'CONFLICT',
          `${peerId} answered at ${answeredAt}. Until it learns of the adoption, it and this node both decide about ` +
            'its subjects. Stop it, or run the command again with --yes',
          { answered_at: answeredAt },
        );
      }
      const adopted = await store.execute({ kind: 'adopt-peer', peerId, by: caller.agentId });
      if (!adopted.ok) return failed(adopted.error);
      if (peerId !== self && !asked) {
        await terminal.complain(
          `the daemon of this node does not run: start it, so that the others learn of this\n`,
        );
      }
      const { home, adopted: homes } = adopted.value;
      await terminal.print(shown(parsed, terminal, { adopted: true, peer_id: peerId, home, homes }));
      return ok(0);
    });
  },
});
