import { failed } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { isSet } from '../global-flags.js';
import {
  formingParts,
  keepQuorum,
  PLACE_FLAGS,
  placeWords,
  quorumGiven,
  SERVE_FLAGS,
  serveAfter,
  shown,
} from './mesh-parts.js';

/** Makes a mesh of which this node is the first member and the authority. */
export const initCommand = defineCommand({
  name: 'mesh init',
  summary: 'Make a mesh: this node becomes its first member and its authority, which admits others.',
  flags: [...PLACE_FLAGS, ...SERVE_FLAGS],
  examples: [
    'mesh init --url https://node1.example:9177',
    'mesh init --serve',
    'mesh init --url https://node1.example:9177 --listen 0.0.0.0:9177 --serve',
  ],
  run: async (parsed, terminal) => {
    const quorum = quorumGiven(parsed);
    if (!quorum.ok) return failed(quorum.error);
    const words = placeWords(parsed);
    if (!words.ok) return failed(words.error);
    // Certificates are expensive to load, and every help loads the commands.
    const { initMesh } = await import('../../node/mesh/forming/form.js');
    const made = await initMesh(formingParts(parsed), words.value);
    if (!made.ok) return failed(made.error);
    keepQuorum(parsed, quorum.value);
    const { mesh_id, peer_id, name, url, listen } = made.value;
    await terminal.print(
      shown(parsed, terminal, { made: true, mesh_id, peer_id, name, url, listen: addressOf(listen) }),
    );
    if (!isSet(parsed, 'json')) {
      await terminal.complain(
        [
          '',
          isSet(parsed, 'serve')
            ? 'For each further node, from another terminal:'
            : 'Run "mnemesh serve" unless it runs already. For each further node, here:',
          '  mnemesh mesh invite',
          'and on that node:',
          '  mnemesh mesh join <token> --serve',
          '',
          'Keep a copy of the folder "mesh" in the home: without authority.key no node can join or be removed.',
          '',
        ].join('\n'),
      );
    }
    return serveAfter(parsed, terminal);
  },
});

const addressOf = (listen: { host: string; port: number } | null) =>
  listen === null ? null : `${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${listen.port}`;
