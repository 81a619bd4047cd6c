import type { Bench, BenchContext } from './bench.js';
import { AGENT, failures, figuresOf, LoadGenerator, storing } from './load.js';
import { clientOf } from './node-client.js';
import type { BenchResult } from './report.js';
import { startDaemonProcess } from './servers.js';
import { rounded } from './statistics.js';
import { enrol } from './store.js';

const CLIENTS = [1, 64];
/** Each way is measured this often, in turn, because other work of the machine comes and goes. */
const ROUNDS = 8;
const FREE = 'bench/free';
const GOVERNED = 'bench/governed';

/** What a policy in force costs a store: two namespaces of one daemon, of which one has a policy. */
export const policyBench: Bench = {
  name: 'policy',
  summary: 'Stores over HTTP into a namespace with a policy beside one without.',
  usage: '[--clients 1,64] [--seconds 2]',
  run: runPolicy,
};

interface PolicyRow {
  readonly clients: number;
  readonly free: readonly number[];
  readonly governed: readonly number[];
  readonly failed: string | null;
}

async function runPolicy({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const durationMs = (options.seconds ?? (options.quick ? 0.4 : 2)) * 1000;
  const times = { warmupMs: options.quick ? 100 : 500, durationMs };
  const load = LoadGenerator.start(workspace);
  const daemon = await startDaemonProcess(workspace, workspace.folder(), ADMIN, options.cpuProf);
  await enrol(daemon.port);
  await govern(daemon.port);
  const rows: PolicyRow[] = [];
  for (const clients of options.clients ?? CLIENTS) {
    const row = { clients, free: [] as number[], governed: [] as number[], failed: null as string | null };
    for (let round = 0; round < (options.quick ? 1 : ROUNDS); round += 1) {
      progress.step(`policy: ${clients} clients, round ${round + 1}`);
      // The first of a pair changes from round to round: the database grows under the second.
      for (const namespace of round % 2 === 0 ? [FREE, GOVERNED] : [GOVERNED, FREE]) {
        const run = await load.run(daemon.port, times, [storing(clients, namespace)]);
        const figures = figuresOf(run, 'store');
        row.failed ??= failures(figures);
        (namespace === FREE ? row.free : row.governed).push(figures.perSecond);
      }
    }
    rows.push(row);
  }
  await daemon.stop();
  await load.stop();
  return report(rows);
}

const ADMIN = { SVC_ADMIN_AGENT_IDS: AGENT, SVC_ADMIN_HEADER_TRUST: '1', SVC_PERMISSIONS_MODE: 'enforce' };

/** Only registered agents write there, and removals wait for two approvals. */
async function govern(port: number): Promise<void> {
  const governance = { write: 'registered', delete: 'approve', approver: { consensus: 2 } };
  await clientOf(port, AGENT).call('memory_namespace_set_standard', { namespace: GOVERNED, governance });
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** The middle of the ratios of the pairs, each of which ran within seconds. */
const ratio = ({ free, governed }: PolicyRow): number =>
  median(governed.map((perSecond, at) => perSecond / free[at]!));

function report(rows: readonly PolicyRow[]): BenchResult {
  return {
    tables: [
      {
        title: 'policy: POST /memories into a namespace with a policy in force, and into one without',
        columns: ['clients', 'without/s', 'with/s', 'median of the ratios', 'failed'],
        rows: rows.map((row) => [
          row.clients,
          Math.round(median(row.free)),
          Math.round(median(row.governed)),
          rounded(ratio(row), 3),
          row.failed,
        ]),
        notes: ['the limit is the rate without a policy; the goal is a ratio of at least 0.95'],
      },
    ],
    json: {
      rows: rows.map((row) => ({
        clients: row.clients,
        without_per_second: rounded(median(row.free), 1),
        with_per_second: rounded(median(row.governed), 1),
        ratio: rounded(ratio(row), 3),
        failed: row.failed,
      })),
    },
  };
}
