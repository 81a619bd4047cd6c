import { systemClock, systemScheduler } from '../../node/seams.js';
import { BuiltinEmbedder } from '../../node/semantics/encoder/builtin-embedder.js';
import { EMBED_STATES } from '../../protocol/memory/embed-state.js';
import { Reader } from '../../storage/sql/reader.js';
import { generator, randomVectors } from '../storage/vectors/random-vectors.js';
import type { Bench, BenchContext } from './bench.js';
import { ZipfCorpus } from './corpus.js';
import { type BenchDatabase, databasePath, fill, openBenchDatabase } from './database.js';
import { failures, figuresOf, LoadGenerator, limitPerSecond, recalling, recallPath } from './load.js';
import type { LoadFigures } from './load-plan.js';
import { clientOf } from './node-client.js';
import type { BenchResult } from './report.js';
import { residentMemory, startBareServer, startDaemonProcess, withCpu } from './servers.js';
import { rounded } from './statistics.js';

const ROWS = 100_000;
const CLIENTS = [1, 16, 64];
const QUERY_WORDS = 7;
const QUERIES = 20_000;
const LIMIT = 10;
const BATCH_ROWS = 500;
const HYBRID_WAIT_MS = 60_000;
/** In the body of an answer that vectors took part in. */
const HYBRID_MARK = '"mode":"hybrid"';
const SILENT_LOG = { debug() {}, info() {}, warn() {}, error() {} };

/** Hybrid recall over HTTP: real query embeddings, made vectors. */
export const hybridBench: Bench = {
  name: 'hybrid',
  summary: "Hybrid recall on 100,000 rows with made vectors, beside the embedder's own rate.",
  usage: '[--rows 100000] [--clients 1,16,64] [--seconds 5]',
  run: runHybrid,
};

interface HybridRow {
  readonly clients: number;
  readonly figures: LoadFigures;
  readonly bareHttp: number;
  readonly daemonCpu: number | null;
}

async function runHybrid({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const durationMs = (options.seconds ?? (options.quick ? 0.8 : 5)) * 1000;
  const times = { warmupMs: options.quick ? 300 : 1500, durationMs };
  const rows = options.rows?.[0] ?? (options.quick ? 2000 : ROWS);
  const home = workspace.folder();
  const corpus = new ZipfCorpus(3);
  progress.step('hybrid: the embedder alone');
  const embedder = new BuiltinEmbedder({ clock: systemClock, scheduler: systemScheduler, log: SILENT_LOG });
  const embedderRate = await queriesPerSecond(embedder, corpus, options.quick ? 500 : 3000);
  progress.step(`hybrid: ${rows} rows`);
  const database = openBenchDatabase(databasePath(home), 'OFF');
  fill(
    database,
    rows,
    (index) => corpus.row(index),
    (done) => progress.at(done, rows * 2),
  );
  putMadeVectors(database, embedder, (done) => progress.at(rows + done, rows * 2));
  database.close();
  await embedder.close();

  const load = LoadGenerator.start(workspace);
  const daemon = await startDaemonProcess(workspace, home, { SVC_EMBED_BACKEND: 'builtin' }, options.cpuProf);
  progress.step('hybrid: waiting for the first hybrid answer');
  const firstHybridMs = await firstHybrid(daemon.port, corpus);
  const reads = Array.from({ length: QUERIES }, () => ({
    label: 'recall',
    path: recallPath(corpus.everydayQuery(QUERY_WORDS), corpus.namespace(), LIMIT),
  }));
  const measured: HybridRow[] = [];
  for (const clients of options.clients ?? CLIENTS) {
    progress.step(`hybrid: ${clients} clients`);
    const { value, cpu } = await withCpu(daemon.child, () =>
      load.run(daemon.port, times, [recalling(clients, reads, { mark: HYBRID_MARK })]),
    );
    measured.push({ clients, figures: figuresOf(value, 'recall'), bareHttp: 0, daemonCpu: cpu });
  }
  const resident = residentMemory(daemon.child);
  await daemon.stop();
  const bare = await startBareServer(workspace, 0, measured[0]!.figures.bodyBytes);
  const bounded: HybridRow[] = [];
  for (const row of measured) {
    const result = await load.run(bare.port, { warmupMs: 200, durationMs: options.quick ? 300 : 1000 }, [
      recalling(row.clients, reads),
    ]);
    bounded.push({ ...row, bareHttp: limitPerSecond(result) });
  }
  await bare.stop();
  await load.stop();
  return report({ rows, measured: bounded, embedderRate, firstHybridMs, resident });
}

/** Query embeddings per second, one after the other, of the embedder alone. */
async function queriesPerSecond(embedder: BuiltinEmbedder, corpus: ZipfCorpus, durationMs: number) {
  const embed = async () => {
    const result = await embedder.embedQuery(
      corpus.everydayQuery(QUERY_WORDS),
      systemClock.monotonicMs() + 60_000,
    );
    if (!result.ok) throw new Error(result.error.message);
  };
  for (let warm = 0; warm < 10; warm += 1) await embed();
  const start = performance.now();
  let done = 0;
  while (performance.now() - start < durationMs) {
    await embed();
    done += 1;
  }
  return (done * 1000) / (performance.now() - start);
}

function putMadeVectors(
  database: BenchDatabase,
  { model, dim }: BuiltinEmbedder,
  progressed: (done: number) => void,
): void {
  const reader = new Reader(database.db);
  const random = generator(11);
  let done = 0;
  for (let afterRid = 0; ; ) {
    const pending = reader.run({ kind: 'pending-embeddings', afterRid, limit: BATCH_ROWS });
    if (!pending.ok) throw new Error(pending.error.message);
    const { rows } = pending.value;
    if (rows.length === 0) return;
    const made = Buffer.from(randomVectors(rows.length, dim, random).buffer);
    const embedded = rows.map(({ rid, id, version }, at) => ({
      rid,
      id,
      version,
      state: EMBED_STATES.embedded,
      model,
      dim,
      vectors: made.subarray(at * dim * 4, (at + 1) * dim * 4),
    }));
    database.write([{ kind: 'put-embeddings', rows: embedded }]);
    afterRid = rows.at(-1)!.rid;
    done += rows.length;
    progressed(done);
  }
}

/** How long after its start the daemon gave its first hybrid answer. */
async function firstHybrid(port: number, corpus: ZipfCorpus): Promise<number> {
  const start = performance.now();
  const client = clientOf(port, 'ai:bench');
  while (performance.now() - start < HYBRID_WAIT_MS) {
    const context = corpus.everydayQuery(QUERY_WORDS);
    const { mode } = await client.call('memory_recall', {
      context,
      namespace: corpus.namespace(),
      limit: LIMIT,
    });
    if (mode === 'hybrid') return performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the daemon gave no hybrid answer');
}

interface Measured {
  readonly rows: number;
  readonly measured: readonly HybridRow[];
  readonly embedderRate: number;
  readonly firstHybridMs: number;
  readonly resident: string;
}

function report({ rows, measured, embedderRate, firstHybridMs, resident }: Measured): BenchResult {
  const hybridShare = ({ figures }: HybridRow) => figures.marked / Math.max(figures.ok, 1);
  return {
    tables: [
      {
        title: `hybrid: GET /recall, ${rows} rows with made vectors, queries of ${QUERY_WORDS} words, none twice`,
        columns: [
          'clients',
          'recalls/s',
          'p50 ms',
          'p95 ms',
          'p99 ms',
          'hybrid',
          'hybrid/s',
          'shed',
          'failed',
          'limit: embedder/s',
          'limit: bare HTTP/s',
          'daemon CPU',
        ],
        rows: measured.map((row) => [
          row.clients,
          Math.round(row.figures.perSecond),
          row.figures.p50,
          row.figures.p95,
          row.figures.p99,
          `${Math.round(100 * hybridShare(row))} %`,
          Math.round(hybridShare(row) * row.figures.perSecond),
          row.figures.shed,
          failures(row.figures),
          Math.round(embedderRate),
          Math.round(row.bareHttp),
          row.daemonCpu === null ? null : `${Math.round(100 * row.daemonCpu)} %`,
        ]),
        notes: [
          'the embedder bounds hybrid answers; what it cannot take is answered by keyword and says so',
          `first hybrid answer ${Math.round(firstHybridMs)} ms after the daemon answered; it then held ${resident}`,
        ],
      },
    ],
    json: {
      rows,
      limit_embedder_per_second: rounded(embedderRate, 1),
      first_hybrid_ms: Math.round(firstHybridMs),
      daemon_resident: resident,
      figures: measured.map((row) => ({
        clients: row.clients,
        per_second: rounded(row.figures.perSecond, 1),
        p50_ms: rounded(row.figures.p50, 3),
        p95_ms: rounded(row.figures.p95, 3),
        p99_ms: rounded(row.figures.p99, 3),
        hybrid_share: rounded(hybridShare(row), 3),
        shed: row.figures.shed,
        failed: row.figures.failed,
        limit_bare_http_per_second: rounded(row.bareHttp, 1),
        daemon_cpu: row.daemonCpu === null ? null : rounded(row.daemonCpu),
      })),
    },
  };
}
