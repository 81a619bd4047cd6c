import { call, health, meshStatus } from '../api.js';
import { agoText, valueText } from '../lib/format.js';
import { type MeshStatus, type NodeRow, nodesOf } from '../lib/mesh-status.js';
import { addressOf } from '../lib/route.js';
import { Loading, Problem } from '../ui/notices.js';
import { Facts, Json, Table, Time } from '../ui/parts.js';
import { useLoad } from '../ui/use-load.js';

export function Mesh() {
  const { value, error, isLoading, reload } = useLoad('mesh', (signal) =>
    meshStatus({ compare: true, signal }),
  );
  const conflicts = useLoad('open conflicts', (signal) => call('mesh_conflicts', { limit: 200 }, { signal }));
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
      {value !== null && <Nodes status={value} />}
      <p>
        Edits that lost against another node's: {conflicts.value === null ? '–' : conflicts.value.count}, see{' '}
        <a href={addressOf('conflicts')}>Conflicts</a>. Events that no receiver took: see{' '}
        <a href={addressOf('health')}>Health</a>.
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
            ['Operations owed after a failure', String(replication.dlqDepth)],
            ['Peers that differ', String(replication.diverged)],
            ['Peers in quarantine', String(replication.quarantined)],
          ]}
        />
      )}
    </section>
  );
}

function Nodes({ status }: { readonly status: MeshStatus }) {
  const { value: own } = useLoad('own version', () => health());
  return (
    <section class="card" aria-labelledby="nodes">
      <h2 id="nodes">Nodes</h2>
      {status.peers.length === 0 && status.wired.length === 0 && <p class="quiet">It has no peers.</p>}
      <Table<NodeRow>
        label="Nodes"
        rows={nodesOf(status, own?.version ?? '')}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Node', of: ({ name }) => <b>{name}</b> },
          { name: 'Version', of: ({ version }) => valueText(version) },
          { name: 'State', of: ({ state }) => state },
          { name: 'Answers', of: ({ reachable }) => reachable },
          { name: 'Heard of', of: ({ heardAt }) => agoText(heardAt, Date.now()) },
          { name: 'Clock', of: ({ skewMs: ms }) => (ms === null ? '–' : `${Math.round(ms)} ms`) },
          { name: 'Has up to', of: ({ acked }) => valueText(acked) },
          { name: 'Lag', of: ({ lag }) => lag },
          {
            name: 'Memories',
            of: ({ memories }) => <span class={memories === 'equal' ? 'good' : ''}>{memories}</span>,
          },
          { name: 'Dead letters', of: ({ deadLetters }) => valueText(deadLetters) },
          { name: 'Problem', of: ({ problem }) => valueText(problem) },
        ]}
      />
      {status.wired.length > 0 && (
        <details>
          <summary>Addresses that were wired by hand</summary>
          <Json value={status.wired} />
        </details>
      )}
    </section>
  );
}
