import { failed, ok } from '../../protocol/result.js';
import { defineCommand } from '../define-command.js';
import { shown } from './mesh-parts.js';
import { survey } from './survey.js';

/** Compares the digests of all members. */
export const verifyCommand = defineCommand({
  name: 'mesh verify',
  summary: 'Compare the digests of every member with these: exit code 0 when all are equal, else 1.',
  examples: ['mesh verify', 'mesh verify --json'],
  run: async (parsed, terminal) => {
    const found = await survey(parsed);
    if (!found.ok) return failed(found.error);
    const { peer_id, mesh_id, namespaces, rows, peers } = found.value;
    const members = peers.filter(({ state }) => state === 'member');
    const equal = members.every((peer) => peer.equal === true);
    const compared = members.map(({ state: _state, ...peer }) => peer);
    await terminal.print(
      shown(parsed, terminal, { equal, peer_id, mesh_id, namespaces, rows, peers: compared }),
    );
    return ok(equal ? 0 : 1);
  },
});
