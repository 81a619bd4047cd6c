import type { StatusResult } from '../../node/mesh/status-query.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { defineCommand } from '../define-command.js';
import { followInLines, followOnScreen, hasScreen, INTERVAL_FLAG, intervalOf } from '../follow-screen.js';
import { isSet } from '../global-flags.js';
import type { Terminal } from '../terminal.js';
import { objectView } from '../views/object-view.js';
import { namedPeer } from './peer-names.js';
import { DAEMON_FLAGS, hasMesh, NO_MESH, queryStatus } from './status-query.js';

/** Shows the state of the mesh. */
export const statusCommand = defineCommand({
  name: 'mesh status',
  summary:
    'Show the nodes of the mesh, which of them answer, and whether their memories equal those of this node.',
  flags: [
    { name: 'watch', short: 'w', kind: 'switch', doc: 'Show it again and again, until q or Ctrl-C' },
    INTERVAL_FLAG,
    ...DAEMON_FLAGS,
  ],
  examples: ['mesh status', 'mesh status --watch', 'mesh status --json', 'mesh status --port 9078'],
  run: async (parsed, terminal) => {
    const everyMs = intervalOf(parsed);
    if (!everyMs.ok) return failed(everyMs.error);
    const isJson = isSet(parsed, 'json');
    const view = () => viewOf(parsed, terminal);
    if (isSet(parsed, 'watch')) {
      const follow = !isJson && hasScreen() ? followOnScreen : followInLines;
      return follow(view, terminal, everyMs.value);
    }
    const text = await view();
    if (!text.ok) return failed(text.error);
    await terminal.print(text.value);
    return ok(0);
  },
});

async function viewOf(parsed: ParsedArguments, terminal: Terminal): Promise<Result<string>> {
  const found = await queryStatus(parsed);
  if (!found.ok) return failed(found.error);
  return ok(
    isSet(parsed, 'json')
      ? `${JSON.stringify(statusOf(found.value))}\n`
      : objectView(peopleOf(found.value), { columns: terminal.columns, table: COLUMNS }),
  );
}

const COLUMNS = {
  peer: 'PEER',
  state: 'STATE',
  lag_operations: 'LAG OPS',
  lag_seconds: 'LAG S',
  dlq: 'DLQ',
  skew_ms: 'SKEW MS',
  equal: 'EQUAL',
  address: 'ADDRESS',
};

/** All fields, for programs. */
function statusOf(found: StatusResult): Record<string, unknown> {
  const { daemon, peers, peer_id, mesh_id, names, namespaces, rows } = found;
  if (!hasMesh(found)) return { peer_id, mesh_id, state: 'none', next: NO_MESH };
  return {
    peer_id,
    name: names.get(peer_id) ?? null,
    mesh_id,
    state: stateOf(found),
    url: daemon?.url ?? null,
    listening: daemon?.listening ?? false,
    ...(daemon?.problem == null ? {} : { problem: daemon.problem }),
    authority: daemon?.authority ?? null,
    certificate_expires: daemon?.certificate_expires ?? null,
    open_invites: daemon?.open_invites ?? null,
    namespaces,
    rows,
    peers: peers.map(({ differing, ...peer }) => {
      const reachability = daemon?.peers.find((each) => each.peer_id === peer.peer_id);
      return {
        ...peer,
        name: names.get(peer.peer_id) ?? null,
        differing: differing.length,
        last_contact: reachability?.last_contact ?? null,
        skew_ms: reachability?.skew_ms ?? replicationOf(found, peer.peer_id)?.skewMs ?? null,
      };
    }),
    wired: daemon?.wired ?? [],
    ...(daemon?.replication == null ? {} : { replication: daemon.replication }),
  };
}

const stateOf = ({ daemon, mesh_id: meshId }: StatusResult) =>
  daemon === null
    ? 'not serving'
    : meshId === null
      ? 'wired by hand'
      : daemon.state === 'departed'
        ? REMOVED
        : daemon.state;

const REMOVED = 'removed from the mesh; "mnemesh mesh join" with a new invitation brings it back';

const replicationOf = ({ daemon }: StatusResult, peerId: string) =>
  daemon?.replication?.peers.find((each) => each.peerId === peerId);

/** The view for people: a few facts, and one line for each peer. */
function peopleOf(found: StatusResult): Record<string, unknown> {
  const { daemon, peer_id, mesh_id, namespaces, rows } = found;
  if (!hasMesh(found)) return { node: peer_id, state: 'none', next: NO_MESH };
  const replication = daemon?.replication ?? null;
  const lines = [...found.peers.map((peer) => lineOf(found, peer)), ...astray(found)];
  const problems = lines.flatMap(({ peer, address, problem }) =>
    problem == null ? [] : [`${peer === '?' ? address : peer}: ${problem}`],
  );
  return {
    node: found.names.has(peer_id) ? `${found.names.get(peer_id)}, ${peer_id}` : peer_id,
    ...(mesh_id === null ? {} : { mesh: mesh_id.slice(0, 16) }),
    state: `${stateOf(found)}${daemon?.authority === true ? ', the authority' : ''}`,
    ...(daemon?.url == null ? {} : { address: daemon.url }),
    ...(daemon?.problem == null ? {} : { problem: daemon.problem }),
    memories: `${rows} live ${rows === 1 ? 'row' : 'rows'} in ${namespaces} ${namespaces === 1 ? 'namespace' : 'namespaces'}`,
    ...(replication === null
      ? {}
      : {
          writes: writesOf(replication.quorum),
          ...(replication.accepting
            ? {}
            : { paused: 'writes wait until the operations that this database lost are restored' }),
          ...(replication.underReplicated > 0
            ? { under_replicated: underReplicated(replication.underReplicated) }
            : {}),
        }),
    ...(daemon?.certificate_expires == null
      ? {}
      : { certificate: `until ${daemon.certificate_expires.slice(0, 10)}` }),
    ...(daemon !== null && daemon.open_invites > 0 ? { open_invites: daemon.open_invites } : {}),
    peers: lines.map(({ problem: _problem, ...line }) => line),
    // Problems stand below the table, so that it stays narrow and ids stay whole.
    ...(problems.length === 0 ? {} : { problems }),
  };
}

const underReplicated = (count: number): string =>
  count === 1 ? '1 operation is on too few nodes' : `${count} operations are on too few nodes`;

function writesOf({
  configured,
  needed,
  members,
}: {
  configured: number;
  needed: number;
  members: number;
}): string {
  if (configured <= 1) return 'are answered when they are on this node';
  const short = needed < configured ? `; ${configured} are configured` : '';
  return `wait for ${needed} of ${members} nodes${short}`;
}

function lineOf(
  found: StatusResult,
  { peer_id, url, state, reachable, equal, differing, problem }: StatusResult['peers'][number],
) {
  const link = replicationOf(found, peer_id);
  const reachability = found.daemon?.peers.find((each) => each.peer_id === peer_id);
  const silent = reachable ? 'answers' : 'silent';
  // A connection without anything to send has not noticed yet.
  const known = link === undefined || (!reachable && link.state === 'healthy') ? silent : link.state;
  return {
    peer: namedPeer(peer_id, found.names.get(peer_id)),
    state: state === 'departed' ? 'departed' : link?.quarantined === true ? 'resting' : known,
    lag_operations: link?.lagOperations,
    lag_seconds: link?.lagSeconds,
    dlq: link?.dlq,
    skew_ms: reachability?.skew_ms ?? link?.skewMs,
    equal: equal === null ? (state === 'departed' ? null : '?') : equal ? 'yes' : `no (${differing.length})`,
    address: url,
    // Nobody waits for a node that was removed.
    problem: state === 'departed' ? null : problemsOf(problem, link),
  };
}

function problemsOf(problem: string | null, link: ReturnType<typeof replicationOf>): string | null {
  const { lastError = null, comparisonProblem: reason = null, comparisonsFailed: failed } = link ?? {};
  const notCompared = reason === null ? [] : [`the rows could not be compared ${failed} times: ${reason}`];
  const all = [...[problem ?? lastError].filter((each) => each !== null), ...notCompared];
  return all.length === 0 ? null : all.join('; ');
}

/** Addresses of --quorum-peers that lead to no peer. */
const astray = ({ daemon }: StatusResult) =>
  (daemon?.wired ?? [])
    .filter(({ state }) => state !== 'attached')
    .map(({ url, state, peer_id: peer, problem }) => ({
      peer: peer ?? '?',
      state: state.replaceAll('_', ' '),
      address: url,
      problem,
    }));
