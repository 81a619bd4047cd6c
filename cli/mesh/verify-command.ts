import type { StatusResult } from '../../node/mesh/status-query.js';
import { systemScheduler } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { isSet } from '../global-flags.js';
import { shown } from './mesh-parts.js';
import { DAEMON_FLAGS, hasMesh, NO_MESH, queryStatus } from './status-query.js';

/** A write under way causes a short difference, so a difference is checked again. */
const TRIES = 4;
const PAUSE_MS = 500;

/** Compares the digests of all members. */
export const verifyCommand = defineCommand({
  name: 'mesh verify',
  summary:
    'Compare the digests of every member with those of this node: exit code 0 when all are equal, 1 when one differs or does not answer.',
  flags: DAEMON_FLAGS,
  examples: ['mesh verify', 'mesh verify --json'],
  run: async (parsed, terminal) => {
    const found = await patientStatusQuery(parsed);
    if (!found.ok) return failed(found.error);
    if (!hasMesh(found.value)) return fail('NOT_FOUND', NO_MESH);
    const { peer_id, mesh_id, names, namespaces, rows } = found.value;
    const members = membersOf(found.value);
    const equal = members.every((peer) => peer.equal === true);
    const compared = members.map(({ state: _state, peer_id: id, ...peer }) => ({
      name: names.get(id) ?? null,
      peer_id: id,
      ...peer,
    }));
    const answer = { equal, peer_id, mesh_id, namespaces, rows, peers: compared };
    await terminal.print(
      isSet(parsed, 'json')
        ? `${JSON.stringify(answer)}\n`
        : verdict(found.value) + shown(parsed, terminal, answer),
    );
    return ok(equal ? 0 : 1);
  },
});

const membersOf = ({ peers }: StatusResult) => peers.filter(({ state }) => state === 'member');

async function patientStatusQuery(parsed: ParsedArguments): Promise<Result<StatusResult>> {
  for (let tries = 1; ; tries += 1) {
    const found = await queryStatus(parsed);
    const differs = found.ok && membersOf(found.value).some(({ equal }) => equal === false);
    if (!differs || tries === TRIES) return found;
    await new Promise<void>((resume) => {
      systemScheduler.after(PAUSE_MS, resume, { keepAlive: true });
    });
  }
}

function verdict(found: StatusResult): string {
  const members = membersOf(found);
  const silent = members.filter(({ equal }) => equal === null).length;
  const different = members.filter(({ equal }) => equal === false).length;
  if (members.length === 0)
    return 'This node is the only member of its mesh: there is nothing to compare.\n\n';
  if (silent + different === 0) return `All ${members.length + 1} nodes are equal.\n\n`;
  return `Not verified: ${different} of ${members.length} peers differ, ${silent} did not answer.\n\n`;
}
