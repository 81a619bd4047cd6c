import type { Bench, BenchContext } from './bench.js';
import { figuresOf, LoadGenerator, signedStores } from './load.js';
import type { LoadFigures } from './load-plan.js';
import { type MeshLimits, meshLimits } from './mesh-limits.js';
import { BenchMesh, type NodeUse } from './mesh-processes.js';
import type { BenchResult } from './report.js';
import { rounded } from './statistics.js';
import { enrol, SIGNED } from './store.js';

const NODES = [2, 5, 10];
const WRITES = 1000;
/** Before them, so that the figures are those of a node that has been running for a while. */
const WARMUP_WRITES = 2000;
const CLIENTS = 8;
const CONVERGE_WAIT_MS = 120_000;

/** Signed writes at one node of a mesh of real daemons, beside the limits of the same machine. */
export const meshBench: Bench = {
  name: 'mesh',
  summary: 'Signed writes at a node of a mesh under W=2, and how soon all nodes are equal.',
  usage: '[--nodes 2,5,10] [--rows 1000] [--clients 8] [--cpu-prof folder]',
  run: runMesh,
};

interface MeshRow {
  readonly nodes: number;
  readonly clients: number;
  readonly writes: LoadFigures;
  /** From the last answer to equal row counts and root digests. */
  readonly convergedSeconds: number;
  /** Answered before the quorum had it. */
  readonly missed: number;
  readonly dlqDepth: number;
  readonly use: readonly NodeUse[];
  /** From the first request until all were equal. */
  readonly seconds: number;
  readonly generatorCpu: number;
}

async function runMesh(context: BenchContext): Promise<BenchResult> {
  const { options, progress, workspace } = context;
  const counted = options.rows?.[0] ?? (options.quick ? 100 : WRITES);
  const warmup = options.quick ? 50 : WARMUP_WRITES;
  const clients = options.clients?.[0] ?? CLIENTS;
  const load = LoadGenerator.start(workspace);
  progress.step('mesh: limits');
  const limits = await meshLimits(workspace, load, clients, { warmup, counted }, options.quick ? 200 : 1000);
  const rows: MeshRow[] = [];
  for (const nodes of options.nodes ?? (options.quick ? [2] : NODES)) {
    rows.push(await oneMesh(context, load, { nodes, clients, warmup, counted }));
  }
  await load.stop();
  return report(rows, limits, counted);
}

interface Plan {
  readonly nodes: number;
  readonly clients: number;
  readonly warmup: number;
  readonly counted: number;
}

async function oneMesh(
  { options, progress, workspace }: BenchContext,
  load: LoadGenerator,
  { nodes, clients, warmup, counted }: Plan,
): Promise<MeshRow> {
  progress.step(`mesh: ${nodes} nodes are formed`);
  const mesh = await BenchMesh.form(workspace, nodes, SIGNED, options.cpuProf, (done) => {
    progress.at(done, nodes);
  });
  const port = Number(new URL(mesh.node(1).api).port);
  await enrol(port);
  progress.step(`mesh: ${counted} writes at 1 of ${nodes} nodes`);
  const roots = mesh.roots();
  await signedStores(load, port, clients, warmup);
  await roots.untilEqual(CONVERGE_WAIT_MS);

  const used = mesh.measure();
  const from = performance.now();
  const result = await signedStores(load, port, clients, counted);
  const answered = performance.now();
  await roots.untilEqual(CONVERGE_WAIT_MS);
  const equal = performance.now();
  const use = used();

  const dlqDepth = await mesh.dlqDepth();
  roots.close();
  await mesh.end();
  const writes = figuresOf(result, 'store');
  return {
    nodes,
    clients,
    writes,
    convergedSeconds: (equal - answered) / 1000,
    missed: writes.ok - writes.marked,
    dlqDepth,
    use,
    seconds: (equal - from) / 1000,
    generatorCpu: result.generatorCpu,
  };
}

function report(rows: readonly MeshRow[], limits: MeshLimits, counted: number): BenchResult {
  const { store } = limits;
  const share = ({ use, seconds }: MeshRow, at: number) => (use[at]?.cpuSeconds ?? 0) / seconds;
  return {
    tables: [
      {
        title: `mesh: ${counted} signed stores at node 1, W=2, mutual TLS and signatures, synchronous=FULL, keyword mode`,
        columns: [
          'nodes',
          'writes/s',
          'p50 ms',
          'p99 ms',
          'equal after s',
          '202s',
          'failed',
          'DLQ',
          'limit: without mesh/s',
          'of it',
          'load CPU',
        ],
        rows: rows.map((row) => [
          row.nodes,
          Math.round(row.writes.perSecond),
          row.writes.p50,
          row.writes.p99,
          rounded(row.convergedSeconds, 3),
          row.missed,
          failedOf(row.writes),
          row.dlqDepth,
          Math.round(store.perSecond),
          percent(row.writes.perSecond / store.perSecond),
          percent(row.generatorCpu),
        ]),
        notes: [
          `without mesh: the same load at one node, p50 ${rounded(store.p50)} ms, p99 ${rounded(store.p99)} ms`,
          `${Math.round(limits.verificationsPerSecond)} Ed25519 verifications/s on one core; a write of a mesh needs one for the writer and one at each receiver, a message one or two more`,
          `a bare HTTPS round trip with mutual TLS: ${rounded(limits.roundTripMs, 3)} ms, ${Math.round(limits.roundTripsPerSecond)}/s one at a time`,
          `${WARMUP_WRITES} writes before them are not counted`,
          'equal after: from the last answer until all nodes have the same row counts and root digests',
        ],
      },
      {
        title: 'Nodes from the first request until all are equal: CPU in shares of one core, resident MiB',
        columns: ['nodes', 'seconds', 'CPU node 1', 'CPU others', 'CPU all', 'MiB node 1', 'MiB others'],
        rows: rows.map((row) => {
          const [first, ...others] = row.use;
          return [
            row.nodes,
            rounded(row.seconds),
            percent(share(row, 0)),
            others.map((_, at) => percent(share(row, at + 1))).join(' '),
            percent(row.use.reduce((sum, _, at) => sum + share(row, at), 0)),
            first?.residentMib ?? null,
            others.map(({ residentMib }) => residentMib ?? '-').join(' '),
          ];
        }),
      },
    ],
    json: {
      writes: counted,
      quorum_writes: 2,
      limits: {
        store_per_second: rounded(store.perSecond, 1),
        store_p50_ms: rounded(store.p50, 3),
        store_p99_ms: rounded(store.p99, 3),
        ed25519_verifications_per_second: Math.round(limits.verificationsPerSecond),
        https_round_trip_ms: rounded(limits.roundTripMs, 3),
        https_round_trips_per_second: Math.round(limits.roundTripsPerSecond),
      },
      rows: rows.map((row) => ({
        nodes: row.nodes,
        clients: row.clients,
        stored: row.writes.ok,
        per_second: rounded(row.writes.perSecond, 1),
        p50_ms: rounded(row.writes.p50, 3),
        p99_ms: rounded(row.writes.p99, 3),
        converged_seconds: rounded(row.convergedSeconds, 3),
        quorum_missed: row.missed,
        shed: row.writes.shed,
        failed: row.writes.failed,
        dlq_depth: row.dlqDepth,
        share_of_store_without_mesh: rounded(row.writes.perSecond / store.perSecond, 3),
        load_cpu: rounded(row.generatorCpu),
        seconds: rounded(row.seconds, 3),
        per_node: row.use.map(({ cpuSeconds, residentMib }, at) => ({
          cpu_seconds: cpuSeconds === null ? null : rounded(cpuSeconds),
          cpu: rounded(share(row, at)),
          resident_mib: residentMib,
        })),
      })),
    },
  };
}

/** Answers that were no success, for a table. */
function failedOf({ failed, shed }: LoadFigures): string | null {
  const entries = Object.entries({ ...failed, ...(shed > 0 ? { 503: shed } : {}) });
  return entries.length === 0 ? null : entries.map(([status, count]) => `${status}: ${count}`).join(', ');
}

const percent = (share: number) => `${Math.round(share * 100)} %`;
