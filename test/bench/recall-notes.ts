import type { BenchContext } from './bench.js';
import { NoteCorpus } from './corpus.js';
import { databasePath, fill, openBenchDatabase } from './database.js';
import { failures, figuresOf, LoadGenerator, limitPerSecond, recalling, recallPath } from './load.js';
import type { LoadPlan } from './load-plan.js';
import { McpAgent } from './mcp-agent.js';
import type { BenchResult } from './report.js';
import { startBareServer, startDaemonProcess, withCpu } from './servers.js';
import { type Percentiles, percentiles, rounded } from './statistics.js';

const ROWS = 550;
const QUERIES = 400;
const LIMIT = 10;

interface Measured {
  readonly surface: string;
  readonly perSecond: number;
  readonly times: Pick<Percentiles, 'p50' | 'p95' | 'p99'>;
  readonly failed: string | null;
  /** Processor milliseconds of a recall, of all processes of the service. */
  readonly cpuMs: number | null;
  readonly bareHttp: number | null;
}

/** Recalls among ordinary notes, by one client at a time: over HTTP, and over MCP beside a daemon and without one. */
export async function runRecallNotes({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const durationMs = (options.seconds ?? (options.quick ? 0.6 : 4)) * 1000;
  const times = { warmupMs: options.quick ? 200 : 2000, durationMs };
  const rows = options.rows?.[0] ?? ROWS;
  const home = workspace.folder();
  const database = openBenchDatabase(databasePath(home), 'OFF');
  const corpus = new NoteCorpus(3);
  fill(
    database,
    rows,
    (index) => corpus.row(index),
    (done) => progress.at(done, rows),
  );
  database.close();
  const queries = Array.from({ length: QUERIES }, () => corpus.query());
  const load = LoadGenerator.start(workspace);
  const measured: Measured[] = [];

  progress.step('recall: notes over HTTP');
  const daemon = await startDaemonProcess(workspace, home, {}, options.cpuProf);
  const reads = queries.map((query) => ({
    label: 'recall',
    path: recallPath(query, corpus.namespace, LIMIT),
  }));
  for (const clients of options.clients ?? [1, 8]) {
    const { value, cpu } = await withCpu(daemon.child, () =>
      load.run(daemon.port, times, [recalling(clients, reads)]),
    );
    const figures = figuresOf(value, 'recall');
    const bare = await startBareServer(workspace, 0, figures.bodyBytes);
    const bareRun = await load.run(bare.port, { warmupMs: 200, durationMs: durationMs / 4 }, [
      recalling(clients, reads),
    ]);
    await bare.stop();
    measured.push({
      surface: `HTTP, ${clients} ${clients === 1 ? 'client' : 'clients'}`,
      perSecond: figures.perSecond,
      times: figures,
      failed: failures(figures),
      cpuMs: cpu === null ? null : (cpu * 1000) / figures.perSecond,
      bareHttp: limitPerSecond(bareRun),
    });
  }
  const ask = async (surface: string) => {
    progress.step(`recall: notes over ${surface}`);
    const agent = await McpAgent.start(workspace, home, 'bench', { cpuProf: options.cpuProf });
    measured.push({ surface, ...(await recallsOf(agent, queries, corpus.namespace, times)) });
    await agent.stop();
  };
  await ask('MCP beside the daemon');
  await daemon.stop();
  await ask('MCP without a daemon');
  await load.stop();
  return report(rows, measured);
}

/** Lets an agent recall one query after the other. */
async function recallsOf(
  agent: McpAgent,
  queries: readonly string[],
  namespace: string,
  { warmupMs, durationMs }: Pick<LoadPlan, 'warmupMs' | 'durationMs'>,
): Promise<Omit<Measured, 'surface'>> {
  const countedFrom = performance.now() + warmupMs;
  const taken: number[] = [];
  const failed: string[] = [];
  for (let n = 0; ; n += 1) {
    const start = performance.now();
    if (start >= countedFrom + durationMs) break;
    const context = queries[n % queries.length]!;
    const failure = await agent.failureOf('memory_recall', { context, namespace, limit: LIMIT });
    if (start < countedFrom) continue;
    if (failure === null) taken.push(performance.now() - start);
    else failed.push(failure);
  }
  return {
    perSecond: taken.length / (durationMs / 1000),
    times: percentiles(taken),
    failed: failed.length === 0 ? null : `${failed.length}: ${failed[0]}`,
    cpuMs: null,
    bareHttp: null,
  };
}

function report(rows: number, measured: readonly Measured[]): BenchResult {
  return {
    tables: [
      {
        title: `recall --notes: ten rows among ${rows} notes of 40 words, keyword mode`,
        columns: [
          'surface',
          'recalls/s',
          'p50 ms',
          'p95 ms',
          'p99 ms',
          'failed',
          'CPU ms',
          'limit: bare HTTP/s',
        ],
        rows: measured.map(({ surface, perSecond, times, failed, cpuMs, bareHttp }) => [
          surface,
          Math.round(perSecond),
          times.p50,
          times.p95,
          times.p99,
          failed,
          cpuMs === null ? null : rounded(cpuMs),
          bareHttp === null ? null : Math.round(bareHttp),
        ]),
        notes: ['CPU: of the daemon for one recall; bare HTTP: a fixed answer of the same size'],
      },
    ],
    json: {
      rows,
      figures: measured.map(({ surface, perSecond, times, failed, cpuMs, bareHttp }) => ({
        surface,
        per_second: rounded(perSecond, 1),
        p50_ms: rounded(times.p50, 3),
        p95_ms: rounded(times.p95, 3),
        p99_ms: rounded(times.p99, 3),
        failed,
        cpu_ms: cpuMs === null ? null : rounded(cpuMs, 3),
        limit_bare_http_per_second: bareHttp === null ? null : rounded(bareHttp, 1),
      })),
    },
  };
}
