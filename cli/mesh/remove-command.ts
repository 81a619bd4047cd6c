import { RosterFile } from '../../node/mesh/forming/roster-file.js';
import { fail, failed, ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { formingParts, NODE_POSITIONAL, peerNamed, requireMesh, shown } from './mesh-parts.js';

/** Removes a node from the mesh. */
export const removeCommand = defineCommand({
  name: 'mesh remove',
  summary: 'Remove a node from the mesh; its writes stay.',
  positionals: [NODE_POSITIONAL],
  examples: ['mesh remove lab-2', 'mesh remove peer-0011'],
  run: async (parsed, terminal) => {
    const parts = formingParts(parsed);
    const facts = requireMesh(parts.folder);
    if (!facts.ok) return failed(facts.error);
    const authority = parts.folder.authority();
    if (authority === null) {
      return fail('FORBIDDEN', 'only the node that made the mesh can remove others: run this command there');
    }
    const named = peerNamed(parts.folder, parts, parsed.positionals[0]!);
    if (!named.ok) return failed(named.error);
    const peerId = named.value;
    if (peerId === parts.identity.peerId) {
      return fail('CONFLICT', 'the node that made the mesh cannot be removed from it');
    }
    const stated = await new RosterFile(parts.folder, parts).state(authority, (known) => {
      const statement = known.get(peerId)?.statement;
      if (statement === undefined)
        return fail('NOT_FOUND', `this mesh has no node ${peerId}; "mesh status" shows its nodes`);
      if (statement.state === 'departed') return fail('CONFLICT', `${peerId} was removed already`);
      return ok({ ...statement, fingerprints: [], state: 'departed' as const });
    });
    if (!stated.ok) return failed(stated.error);
    const { state, serial } = stated.value.statement;
    await terminal.print(shown(parsed, terminal, { removed: true, peer_id: peerId, state, serial }));
    return ok(0);
  },
});
