import { agentKey } from '../support/signing.js';
import { bareDriverRate } from './bare-driver.js';
import type { Bench, BenchContext } from './bench.js';
import { groupCommitRate, syncsPerSecond } from './limits.js';
import { AGENT, failures, figuresOf, LoadGenerator, limitPerSecond, signing, storing } from './load.js';
import type { LoadFigures } from './load-plan.js';
import { clientOf } from './node-client.js';
import type { BenchOptions } from './options.js';
import { placeOf } from './place.js';
import type { BenchResult } from './report.js';
import { type ServerProcess, startBareServer, startDaemonProcess, withCpu } from './servers.js';
import { rounded } from './statistics.js';

const NAMESPACE = 'bench/store';
const CLIENTS = [1, 8, 64];

/** Stores over HTTP, as `design/performance.md` defines the workload; with `--signed` under required attestation. */
export const storeBench: Bench = {
  name: 'store',
  summary: 'Stores over HTTP beside group commit, bare HTTP and the disk.',
  usage: '[--clients 1,8,64] [--seconds 4] [--signed] [--store-url postgres://…]',
  run: runStore,
};

/** Settings of a daemon that takes signed stores alone. */
export const SIGNED = {
  SVC_REQUIRE_AGENT_ATTESTATION: '1',
  SVC_ADMIN_AGENT_IDS: AGENT,
  SVC_ADMIN_HEADER_TRUST: '1',
};

/** Registers the agent of the load and binds its key. */
export async function enrol(port: number): Promise<void> {
  const client = clientOf(port, AGENT);
  await client.call('memory_agent_register', { agent_id: AGENT, agent_type: 'system' });
  await client.call('agent_bind_key', { id: AGENT, pubkey_b64: agentKey(AGENT).publicKeyText });
}

interface StoreRow {
  readonly clients: number;
  readonly figures: LoadFigures;
  readonly daemonCpu: number | null;
  readonly generatorCpu: number;
  readonly bareHttp: number;
  readonly groupCommit: number;
}

async function runStore({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const durationMs = (options.seconds ?? (options.quick ? 0.6 : 4)) * 1000;
  const times = { warmupMs: options.quick ? 200 : 1500, durationMs };
  const limitMs = options.quick ? 200 : 1000;
  const load = LoadGenerator.start(workspace);
  const place = await placeOf(options, workspace);
  const { home } = place;
  const env = { ...(options.signed ? SIGNED : {}), ...place.env };
  const daemon = await startDaemonProcess(workspace, home, env, options.cpuProf);
  if (options.signed) await enrol(daemon.port);
  const stream = (clients: number) => {
    const plain = storing(clients, NAMESPACE);
    return options.signed ? signing(plain, times) : plain;
  };
  const limitOf = async (clients: number) =>
    options.storeUrl === null
      ? groupCommitRate(workspace.folder(), clients, limitMs)
      : await bareDriverRate(await placeOf(options, workspace), clients);
  let bare: ServerProcess | null = null;
  const rows: StoreRow[] = [];
  for (const clients of options.clients ?? CLIENTS) {
    progress.step(`store: ${clients} clients`);
    // A limit is the best that was seen close to its figure, so that other work on the machine lowers neither alone.
    const before = await limitOf(clients);
    const { value, cpu } = await withCpu(daemon.child, () => load.run(daemon.port, times, [stream(clients)]));
    const figures = figuresOf(value, 'store');
    bare ??= await startBareServer(workspace, figures.bodyBytes, 0);
    const bareRun = await load.run(bare.port, times, [storing(clients, NAMESPACE)]);
    const after = await limitOf(clients);
    rows.push({
      clients,
      figures,
      daemonCpu: cpu,
      generatorCpu: value.generatorCpu,
      bareHttp: limitPerSecond(bareRun),
      groupCommit: Math.max(before, after),
    });
  }
  await daemon.stop();
  await bare?.stop();
  await load.stop();
  await place.end();
  const syncs = syncsPerSecond(home, limitMs);
  return report(rows, syncs, options);
}

function report(
  rows: readonly StoreRow[],
  syncs: number,
  { signed, storeUrl }: Pick<BenchOptions, 'signed' | 'storeUrl'>,
): BenchResult {
  const tightest = (row: StoreRow) => Math.min(row.groupCommit, row.bareHttp);
  return {
    tables: [
      {
        title: `store: POST /memories, ${storeUrl === null ? 'synchronous=FULL' : 'PostgreSQL'}, ${signed ? 'signed' : 'unsigned'}, keyword mode`,
        columns: [
          'clients',
          'stores/s',
          'p50 ms',
          'p95 ms',
          'p99 ms',
          'shed',
          'failed',
          'limit: group commit/s',
          'limit: bare HTTP/s',
          'of the tightest',
          'daemon CPU',
          'load CPU',
        ],
        rows: rows.map((row) => [
          row.clients,
          Math.round(row.figures.perSecond),
          row.figures.p50,
          row.figures.p95,
          row.figures.p99,
          row.figures.shed,
          failures(row.figures),
          Math.round(row.groupCommit),
          Math.round(row.bareHttp),
          percent(row.figures.perSecond / tightest(row)),
          row.daemonCpu === null ? null : percent(row.daemonCpu),
          percent(row.generatorCpu),
        ]),
        notes: [
          `the disk takes ${Math.round(syncs)} appends with a sync per second`,
          storeUrl === null
            ? "group commit: the service's writer in a bare loop, as many rows to a transaction as there are clients"
            : 'group commit: a loop of the driver that sends the same statements with the same rows, in groups of as many rows',
          'bare HTTP: the same server library and load, a fixed answer; CPU in shares of one core',
        ],
      },
    ],
    json: {
      signed,
      syncs_per_second: Math.round(syncs),
      rows: rows.map((row) => ({
        clients: row.clients,
        per_second: rounded(row.figures.perSecond, 1),
        p50_ms: rounded(row.figures.p50, 3),
        p95_ms: rounded(row.figures.p95, 3),
        p99_ms: rounded(row.figures.p99, 3),
        stored: row.figures.ok,
        shed: row.figures.shed,
        failed: row.figures.failed,
        limit_group_commit_per_second: rounded(row.groupCommit, 1),
        limit_bare_http_per_second: rounded(row.bareHttp, 1),
        share_of_tightest_limit: rounded(row.figures.perSecond / tightest(row), 3),
        daemon_cpu: row.daemonCpu === null ? null : rounded(row.daemonCpu),
        load_cpu: rounded(row.generatorCpu),
      })),
    },
  };
}

const percent = (share: number) => `${Math.round(share * 100)} %`;
