import type { Survey } from '../../node/mesh/survey.js';
import { failed, ok } from '../../protocol/result.js';
import { defineCommand } from '../define-command.js';
import { isSet } from '../global-flags.js';
import { objectView } from '../views/object-view.js';
import { survey } from './survey.js';

/** Shows how the mesh stands. */
export const statusCommand = defineCommand({
  name: 'mesh status',
  summary: 'Show the nodes of the mesh, who answers, and whether their memories are equal to these.',
  examples: ['mesh status', 'mesh status --json'],
  run: async (parsed, terminal) => {
    const found = await survey(parsed);
    if (!found.ok) return failed(found.error);
    const answer = statusOf(found.value);
    await terminal.print(
      isSet(parsed, 'json')
        ? `${JSON.stringify(answer)}\n`
        : objectView(answer, { columns: terminal.columns }),
    );
    return ok(0);
  },
});

function statusOf({ daemon, peers, peer_id, mesh_id, namespaces, rows }: Survey): Record<string, unknown> {
  if (mesh_id === null) {
    return { peer_id, mesh_id, state: 'none', next: 'mnemesh mesh init, or mnemesh mesh join <token>' };
  }
  return {
    peer_id,
    mesh_id,
    state: daemon?.state ?? 'not serving',
    url: daemon?.url ?? null,
    listening: daemon?.listening ?? false,
    ...(daemon?.problem == null ? {} : { problem: daemon.problem }),
    authority: daemon?.authority ?? null,
    certificate_expires: daemon?.certificate_expires ?? null,
    open_invites: daemon?.open_invites ?? null,
    namespaces,
    rows,
    peers: peers.map(({ differing, ...peer }) => {
      const standing = daemon?.peers.find((each) => each.peer_id === peer.peer_id);
      return {
        ...peer,
        differing: differing.length,
        last_contact: standing?.last_contact ?? null,
        skew_ms: standing?.skew_ms ?? null,
      };
    }),
    ...(daemon?.replication == null ? {} : { replication: daemon.replication }),
  };
}
