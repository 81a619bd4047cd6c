import { read } from '../api.js';
import { agoText, valueText } from '../lib/format.js';
import { addressOf } from '../lib/route.js';
import { Loading, Problem } from '../ui/notices.js';
import { Facts, Json, Table, Time } from '../ui/parts.js';
import { useLoad } from '../ui/use-load.js';

type Members = Readonly<Record<string, unknown>>;

/** What GET /mesh/status answers, as far as the console shows it. */
interface MeshStatus {
  readonly peer_id: string;
  readonly name: string | null;
  readonly mesh_id: string | null;
  readonly url: string | null;
  readonly listening: boolean;
  readonly problem: string | null;
  readonly state: string;
  readonly certificate_expires: string | null;
  readonly peers: readonly Peer[];
  readonly wired: readonly Members[];
  readonly replication: Replication | null;
  readonly compared?: readonly Compared[] | null;
}

interface Peer {
  readonly peer_id: string;
  readonly name: string | null;
  readonly url: string | null;
  readonly state: string;
  readonly reachable: boolean | null;
  readonly last_contact: string | null;
  readonly skew_ms: number | null;
  readonly problem: string | null;
}

interface Compared {
  readonly peer_id: string;
  readonly equal: boolean | null;
  readonly differing: readonly string[];
  readonly problem: string | null;
}

interface Replication {
  readonly origin: string | null;
  readonly originSeq: number;
  readonly accepting: boolean;
  readonly quorum: { readonly configured: number; readonly needed: number; readonly members: number };
  readonly peers: readonly Members[];
  readonly underReplicated: number;
  readonly dlqDepth: number;
  readonly diverged: number;
  readonly quarantined: number;
}

export function Mesh() {
  const { value, error, isLoading, reload } = useLoad(
    'mesh',
    async (signal) => JSON.parse(await read('/api/v1/mesh/status?compare=true', signal)) as MeshStatus,
  );
  return (
    <>
      <div class="bar">
        <h1>Mesh</h1>
        <button type="button" onClick={reload}>
          Ask again
        </button>
      </div>
      <Problem error={error} retry={reload} />
      {isLoading && value === null && <Loading what="the state of the mesh" />}
      {value !== null && <ThisNode status={value} />}
      {value !== null && <Peers status={value} />}
      <p>
        Edits that lost against another node's: <a href={addressOf('conflicts')}>Conflicts</a>. Events that no
        receiver took: <a href={addressOf('health')}>Health</a>.
      </p>
    </>
  );
}

function ThisNode({ status }: { readonly status: MeshStatus }) {
  const { replication } = status;
  return (
    <section class="card" aria-labelledby="this-node">
      <h2 id="this-node">This node</h2>
      {status.problem !== null && <p class="badtext">{status.problem}</p>}
      <Facts
        of={[
          ['Name', status.name],
          ['Id', <code key="id">{status.peer_id}</code>],
          ['Mesh', status.mesh_id ?? 'none: mnemesh mesh init forms one'],
          ['Address for peers', status.url],
          ['Listens for peers', status.listening ? 'yes' : 'no'],
          ['Certificate until', <Time key="until" at={status.certificate_expires} />],
        ]}
      />
      {replication !== null && (
        <Facts
          of={[
            ['Last own operation', String(replication.originSeq)],
            ['Takes writes', replication.accepting ? 'yes' : 'no: it catches up'],
            [
              'Quorum',
              `${replication.quorum.needed} of ${replication.quorum.members} nodes (configured: ${replication.quorum.configured})`,
            ],
            ['On too few nodes', String(replication.underReplicated)],
            ['Dead letters', String(replication.dlqDepth)],
            ['Peers that differ', String(replication.diverged)],
            ['Peers in quarantine', String(replication.quarantined)],
          ]}
        />
      )}
    </section>
  );
}

function Peers({ status }: { readonly status: MeshStatus }) {
  const compared = new Map(status.compared?.map((each) => [each.peer_id, each]));
  const replicated = status.replication?.peers ?? [];
  return (
    <section class="card" aria-labelledby="peers">
      <h2 id="peers">Peers</h2>
      {status.peers.length === 0 && status.wired.length === 0 && <p class="quiet">It has none.</p>}
      {status.peers.length > 0 && (
        <Table<Peer>
          label="Peers"
          rows={status.peers}
          keyOf={({ peer_id: id }) => id}
          columns={[
            { name: 'Node', of: ({ name, peer_id: id }) => name ?? id },
            { name: 'Address', of: ({ url }) => valueText(url) },
            { name: 'State', of: ({ state }) => state },
            {
              name: 'Reachable',
              of: ({ reachable }) => (reachable === null ? 'not asked yet' : reachable ? 'yes' : 'no'),
            },
            { name: 'Heard of', of: ({ last_contact: at }) => agoText(at, Date.now()) },
            { name: 'Clock', of: ({ skew_ms: ms }) => (ms === null ? '–' : `${Math.round(ms)} ms`) },
            { name: 'Memories', of: ({ peer_id: id }) => digestText(compared.get(id)) },
            { name: 'Problem', of: ({ problem }) => valueText(problem) },
          ]}
        />
      )}
      {replicated.length > 0 && (
        <Table<Members>
          label="Replication"
          rows={replicated}
          keyOf={(row, index) => `${valueText(row['peerId'] ?? row['peer_id'])} ${index}`}
          columns={Object.keys(replicated[0]!)
            .filter((name) => typeof replicated[0]![name] !== 'object' || replicated[0]![name] === null)
            .map((name) => ({ name, of: (row) => valueText(row[name]) }))}
        />
      )}
      {status.wired.length > 0 && (
        <details>
          <summary>Addresses that were wired by hand</summary>
          <Json value={status.wired} />
        </details>
      )}
    </section>
  );
}

const digestText = (compared: Compared | undefined): string =>
  compared === undefined || compared.equal === null
    ? 'not compared'
    : compared.equal
      ? 'equal'
      : `differ in ${compared.differing.join(', ')}`;
