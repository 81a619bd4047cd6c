import { findNode, namesIn } from '../../node/mesh/forming/find-node.js';
import { RosterFile } from '../../node/mesh/forming/roster-file.js';
import { fail, failed, ok } from '../../protocol/base/result.js';
import { nodeNameProblem } from '../../protocol/peers/node-name.js';
import { defineCommand } from '../define-command.js';
import { formingParts, NODE_POSITIONAL, requireMesh, shown } from './mesh-parts.js';

/** Gives a node of the mesh another name. */
export const renameCommand = defineCommand({
  name: 'mesh rename',
  summary: 'Give a node of the mesh a name, or another one.',
  positionals: [NODE_POSITIONAL, { name: 'name', doc: 'What people call it from now on' }],
  examples: ['mesh rename peer-0011 lab'],
  run: async (parsed, terminal) => {
    const parts = formingParts(parsed);
    const facts = requireMesh(parts.folder);
    if (!facts.ok) return failed(facts.error);
    const authority = parts.folder.authority();
    if (authority === null)
      return fail('FORBIDDEN', 'only the node that made the mesh names nodes: run this command there');
    const [node, text] = parsed.positionals as [string, string];
    const name = text.toLowerCase();
    const problem = nodeNameProblem(name);
    if (problem !== null) return fail('VALIDATION_FAILED', `<name>: ${problem}`, { fields: ['name'] });
    const stated = await new RosterFile(parts.folder, parts).state(authority, (known) => {
      const found = findNode(known, node);
      if (!found.ok) return failed(found.error);
      return namesIn(known, found.value.peer_id).has(name)
        ? fail('CONFLICT', `another node has the name ${name}`)
        : ok({ ...found.value, name });
    });
    if (!stated.ok) return failed(stated.error);
    await terminal.print(
      shown(parsed, terminal, { renamed: true, peer_id: stated.value.statement.peer_id, name }),
    );
    return ok(0);
  },
});
