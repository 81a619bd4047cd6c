import { constants, copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, BenchContext } from './bench.js';
import { ZipfCorpus } from './corpus.js';
import { databasePath, fill, openBenchDatabase } from './database.js';
import { syncsPerSecond } from './limits.js';
import { failures, figuresOf, LoadGenerator, limitPerSecond, recalling, recallPath } from './load.js';
import type { LoadFigures } from './load-plan.js';
import type { BenchResult } from './report.js';
import { residentMemory, type ServerProcess, startBareServer, startDaemonProcess } from './servers.js';
import { rounded } from './statistics.js';

const ROWS = [10_000, 100_000, 1_000_000];
const CLIENTS = [1, 8];
const KINDS = ['mixed words', 'common words'] as const;
const SCOPES = ['one namespace', 'global'] as const;
const QUERIES = 2000;
const LIMIT = 10;
/** One request in ten is a store. */
const STORE_EVERY = 10;

/** Recalls and stores on a large corpus, as `design/performance.md` defines the workload. */
export const mixedBench: Bench = {
  name: 'mixed',
  summary: 'Nine recalls to one store on 10k, 100k and 1M rows: cost must grow slower than the corpus.',
  usage: '[--rows 10000,100000,1000000] [--clients 1,8] [--seconds 4] [--db-cache <folder>]',
  run: runMixed,
};

interface MixedRow {
  readonly scope: (typeof SCOPES)[number];
  readonly clients: number;
  readonly figures: readonly LoadFigures[];
  readonly stores: LoadFigures;
  readonly bareHttp: number;
}

interface Size {
  readonly rows: number;
  readonly loadedPerSecond: number | null;
  readonly startMs: number;
  readonly resident: string;
  readonly measured: readonly MixedRow[];
}

async function runMixed(context: BenchContext): Promise<BenchResult> {
  const { options, workspace } = context;
  const load = LoadGenerator.start(workspace);
  const bare = await startBareServer(workspace, 200, 6000);
  const sizes: Size[] = [];
  for (const rows of options.rows ?? (options.quick ? [5000] : ROWS)) {
    sizes.push(await measureSize(context, rows, load, bare));
  }
  await bare.stop();
  await load.stop();
  const syncs = syncsPerSecond(workspace.folder(), options.quick ? 300 : 1000);
  return report(sizes, syncs);
}

async function measureSize(
  context: BenchContext,
  rows: number,
  load: LoadGenerator,
  bare: ServerProcess,
): Promise<Size> {
  const { options, progress, workspace } = context;
  const durationMs = (options.seconds ?? (options.quick ? 0.6 : 4)) * 1000;
  const times = { warmupMs: options.quick ? 300 : 2000, durationMs };
  const home = workspace.folder();
  const loadedPerSecond = placeDatabase(context, rows, home);
  const daemon = await startDaemonProcess(workspace, home, {}, options.cpuProf);
  const corpus = new ZipfCorpus(2);
  const measured: MixedRow[] = [];
  for (const scope of SCOPES) {
    const namespaceOf = () => (scope === 'global' ? null : corpus.namespace());
    const reads = Array.from({ length: QUERIES }, (_, at) => {
      const label = KINDS[at % KINDS.length]!;
      return { label, path: recallPath(corpus.query(label), namespaceOf(), LIMIT) };
    });
    const stream = (clients: number) =>
      recalling(clients, reads, { storeEvery: STORE_EVERY, namespaces: corpus.namespaces });
    for (const clients of options.clients ?? CLIENTS) {
      progress.step(`mixed: ${rows} rows, ${scope}, ${clients} clients`);
      const result = await load.run(daemon.port, times, [stream(clients)]);
      const bareRun = await load.run(bare.port, { warmupMs: 200, durationMs: options.quick ? 300 : 1000 }, [
        stream(clients),
      ]);
      measured.push({
        scope,
        clients,
        figures: KINDS.map((kind) => figuresOf(result, kind)),
        stores: figuresOf(result, 'store'),
        bareHttp: limitPerSecond(bareRun),
      });
    }
  }
  const resident = residentMemory(daemon.child);
  await daemon.stop();
  return { rows, loadedPerSecond, startMs: daemon.startMs, resident, measured };
}

/** Puts the corpus where the daemon looks for it; answers the rate of loading, null for a copy from the cache. */
function placeDatabase({ options, progress }: BenchContext, rows: number, home: string): number | null {
  const cached = options.dbCache === null ? null : join(options.dbCache, `mixed-${rows}.db`);
  if (cached !== null && existsSync(cached)) {
    progress.step(`mixed: copying ${cached}`);
    copyFileSync(cached, databasePath(home), constants.COPYFILE_FICLONE);
    return null;
  }
  progress.step(`mixed: loading ${rows} rows`);
  const start = performance.now();
  const database = openBenchDatabase(databasePath(home), 'OFF');
  const corpus = new ZipfCorpus(rows);
  fill(
    database,
    rows,
    (index) => corpus.row(index),
    (done) => progress.at(done, rows),
  );
  database.db.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
  const perSecond = rows / ((performance.now() - start) / 1000);
  if (cached !== null && options.dbCache !== null) {
    mkdirSync(options.dbCache, { recursive: true });
    // Under its name only when it is whole.
    copyFileSync(databasePath(home), `${cached}.part`, constants.COPYFILE_FICLONE);
    renameSync(`${cached}.part`, cached);
  }
  return perSecond;
}

function report(sizes: readonly Size[], syncs: number): BenchResult {
  const lines = sizes.flatMap(({ rows, measured }) =>
    measured.flatMap((row) => [...row.figures, row.stores].map((figures) => ({ rows, row, figures }))),
  );
  return {
    tables: [
      {
        title: 'mixed: nine recalls to one store over HTTP, Zipf corpus in 50 namespaces, keyword mode',
        columns: [
          'rows',
          'scope',
          'clients',
          'what',
          'per second',
          'p50 ms',
          'p95 ms',
          'p99 ms',
          'shed',
          'failed',
          'limit: bare HTTP/s, all',
        ],
        rows: lines.map(({ rows, row, figures }) => [
          rows,
          row.scope,
          row.clients,
          figures.label === 'store' ? 'store' : `recall, ${figures.label}`,
          Math.round(figures.perSecond),
          figures.p50,
          figures.p95,
          figures.p99,
          figures.shed,
          failures(figures),
          Math.round(row.bareHttp),
        ]),
        notes: [
          ...sizes.map(
            (size) =>
              `${size.rows} rows: ${size.loadedPerSecond === null ? 'from the cache' : `loaded at ${Math.round(size.loadedPerSecond)} rows/s`}; the daemon answered after ${Math.round(size.startMs)} ms and then held ${size.resident}`,
          ),
          `the disk takes ${Math.round(syncs)} appends with a sync per second`,
          'common words stand in more than a tenth of the rows; mixed ones are rare, medium and common alike',
        ],
      },
    ],
    json: {
      syncs_per_second: Math.round(syncs),
      sizes: sizes.map((size) => ({
        rows: size.rows,
        loaded_rows_per_second: size.loadedPerSecond === null ? null : Math.round(size.loadedPerSecond),
        daemon_start_ms: Math.round(size.startMs),
        daemon_resident: size.resident,
      })),
      figures: lines.map(({ rows, row, figures }) => ({
        rows,
        scope: row.scope,
        clients: row.clients,
        what: figures.label,
        per_second: rounded(figures.perSecond, 1),
        p50_ms: rounded(figures.p50, 3),
        p95_ms: rounded(figures.p95, 3),
        p99_ms: rounded(figures.p99, 3),
        shed: figures.shed,
        failed: figures.failed,
        limit_bare_http_per_second: rounded(row.bareHttp, 1),
      })),
    },
  };
}
