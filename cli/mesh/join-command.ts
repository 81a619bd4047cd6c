import { parseToken } from '../../node/mesh/forming/join-token.js';
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

const TOKEN_BYTES_MAX = 4096;

/** Joins a mesh with the token of an invitation. */
export const joinCommand = defineCommand({
  name: 'mesh join',
  summary: 'Join a mesh with a token of "mesh invite"; a member gets a new certificate that way.',
  positionals: [
    {
      name: 'token',
      required: false,
      doc: 'The token; - or nothing reads it from standard input, where other users of the machine cannot see it',
    },
  ],
  flags: [...PLACE_FLAGS, ...SERVE_FLAGS],
  examples: ['mesh join - < token.txt', 'mesh join mnemesh-join-… --url https://node2.example:9177 --serve'],
  run: async (parsed, terminal) => {
    const quorum = quorumGiven(parsed);
    if (!quorum.ok) return failed(quorum.error);
    const words = placeWords(parsed);
    if (!words.ok) return failed(words.error);
    // Certificates are expensive to load, and every help loads the commands.
    const { joinMesh } = await import('../../node/mesh/forming/form.js');
    const word = parsed.positionals[0] ?? '-';
    const token = parseToken(word === '-' ? await standardInput() : word);
    if (!token.ok) return failed(token.error);
    const joined = await joinMesh(formingParts(parsed), token.value, words.value);
    if (!joined.ok) return failed(joined.error);
    keepQuorum(parsed, quorum.value);
    const { mesh_id, peer_id, name, url } = joined.value;
    await terminal.print(shown(parsed, terminal, { joined: true, mesh_id, peer_id, name, url }));
    if (!isSet(parsed, 'json') && !isSet(parsed, 'serve')) {
      await terminal.complain(
        '\nRun "mnemesh serve" unless it runs already; a running node takes part at once.\n',
      );
    }
    return serveAfter(parsed, terminal);
  },
});

async function standardInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > TOKEN_BYTES_MAX) break;
  }
  return text;
}
