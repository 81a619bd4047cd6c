import { Reader } from '../../storage/sql/reader.js';
import { OPERATOR } from '../support/memories.js';
import type { Bench, BenchContext } from './bench.js';
import { fill } from './database.js';
import { perSecond } from './limits.js';
import {
  failures,
  figuresOf,
  LoadGenerator,
  limitPerSecond,
  recalling,
  recallPath,
  storing,
} from './load.js';
import type { LoadFigures } from './load-plan.js';
import { type BenchPlace, placeOf } from './place.js';
import { runRecallNotes } from './recall-notes.js';
import type { BenchResult } from './report.js';
import { type ServerProcess, startBareServer, startDaemonProcess, withCpu } from './servers.js';
import { rounded } from './statistics.js';
import { ownWord } from './words.js';

const NAMESPACE = 'bench/recall';
const QUERY = 'capacity envelope probe keyword';
const LIMIT = 5;
const CLIENTS = [1, 4, 16, 64];
const SEED_WORKERS = 8;
const WRITES_PER_SECOND = 200;

/** Keyword recall over HTTP, as `design/performance.md` defines the workload. */
export const recallBench: Bench = {
  name: 'recall',
  summary: 'Keyword recall over HTTP on 5,000 rows, alone and while others write.',
  usage: '[--notes] [--clients 1,4,16,64] [--rows 5000] [--seconds 4] [--store-url postgres://…]',
  run: (context) => (context.options.notes ? runRecallNotes(context) : runRecall(context)),
};

interface RecallRow {
  readonly clients: number;
  readonly writes: LoadFigures | null;
  readonly figures: LoadFigures;
  readonly bareHttp: number;
  readonly daemonCpu: number | null;
  readonly generatorCpu: number;
}

async function runRecall({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const durationMs = (options.seconds ?? (options.quick ? 0.6 : 4)) * 1000;
  const times = { warmupMs: options.quick ? 200 : 1500, durationMs };
  const rows = options.rows?.[0] ?? 5000;
  const place = await placeOf(options, workspace);
  progress.step(`recall: ${rows} rows`);
  const database = place.writing();
  fill(database, rows, seedRow, (done) => progress.at(done, rows));
  database.close();
  const load = LoadGenerator.start(workspace);
  const daemon = await startDaemonProcess(workspace, place.home, place.env, options.cpuProf);
  const reads = [{ label: 'recall', path: recallPath(QUERY, NAMESPACE, LIMIT) }];
  const limitMs = options.quick ? 200 : 700;
  let bare: ServerProcess | null = null;
  let inProcess = inProcessRate(place, limitMs);
  const measured: RecallRow[] = [];
  const counts = options.clients ?? CLIENTS;
  for (const [clients, writing] of [...counts.map((count) => [count, false] as const), [16, true] as const]) {
    progress.step(`recall: ${clients} clients${writing ? `, ${WRITES_PER_SECOND} writes/s` : ''}`);
    const streams = [recalling(clients, reads, { suffix: true })];
    if (writing) streams.push(storing(8, 'bench/others', WRITES_PER_SECOND));
    const { value, cpu } = await withCpu(daemon.child, () => load.run(daemon.port, times, streams));
    const figures = figuresOf(value, 'recall');
    bare ??= await startBareServer(workspace, 0, figures.bodyBytes);
    const bareTimes = { warmupMs: 300, durationMs: durationMs / 2 };
    const bareRun = await load.run(bare.port, bareTimes, [recalling(clients, reads, { suffix: true })]);
    // A limit is the best that was seen, close to its figures: other work on the machine lowers neither alone.
    inProcess = Math.max(inProcess, inProcessRate(place, limitMs));
    measured.push({
      clients,
      writes: writing ? figuresOf(value, 'store') : null,
      figures,
      bareHttp: limitPerSecond(bareRun),
      daemonCpu: cpu,
      generatorCpu: value.generatorCpu,
    });
  }
  await daemon.stop();
  await bare?.stop();
  await load.stop();
  await place.end();
  return report(rows, measured, inProcess);
}

function seedRow(index: number) {
  const worker = index % SEED_WORKERS;
  const text = `capacity envelope seed corpus row ${worker}/${index} envelope probe keyword token`;
  return { title: `seed ${index}`, content: text, namespace: NAMESPACE, tier: 'long' as const };
}

/** Recalls per second of the reader alone, on one thread: no HTTP, no message between threads, no JSON. */
function inProcessRate(place: BenchPlace, durationMs: number): number {
  const db = place.reading();
  const reader = new Reader(db);
  let n = 0;
  const recall = () => {
    n += 1;
    const now = new Date().toISOString();
    const viewer = { ...OPERATOR, all: false, agentId: 'ai:bench' };
    const result = reader.run({
      kind: 'recall-memories',
      request: {
        query: `${QUERY} ${ownWord(0, n)}`,
        namespace: NAMESPACE,
        limit: LIMIT,
        tags: [],
        since: null,
        until: null,
        kinds: null,
        viewer,
        now,
        vectors: null,
      },
    });
    if (!result.ok || result.value.rows.length !== LIMIT) throw new Error('the reader did not recall');
    return 1;
  };
  try {
    perSecond(durationMs / 2, recall);
    return perSecond(durationMs, recall);
  } finally {
    db.close();
  }
}

function report(rows: number, measured: readonly RecallRow[], inProcess: number): BenchResult {
  const share = (row: RecallRow) => row.figures.perSecond / Math.min(row.bareHttp, inProcess);
  return {
    tables: [
      {
        title: `recall: GET /recall, ${rows} rows that all hold the query's words, keyword mode`,
        columns: [
          'clients',
          'writes/s',
          'recalls/s',
          'p50 ms',
          'p95 ms',
          'p99 ms',
          'shed',
          'failed',
          'limit: in process/s',
          'limit: bare HTTP/s',
          'of the tightest',
          'daemon CPU',
          'load CPU',
        ],
        rows: measured.map((row) => [
          row.clients,
          row.writes === null ? 0 : Math.round(row.writes.perSecond),
          Math.round(row.figures.perSecond),
          row.figures.p50,
          row.figures.p95,
          row.figures.p99,
          row.figures.shed,
          failures(row.figures),
          Math.round(inProcess),
          Math.round(row.bareHttp),
          `${Math.round(100 * share(row))} %`,
          row.daemonCpu === null ? null : `${Math.round(100 * row.daemonCpu)} %`,
          `${Math.round(100 * row.generatorCpu)} %`,
        ]),
        notes: [
          'in process: the reader alone on one thread; bare HTTP: the same library and load, a fixed answer of the same size',
          ...measured.flatMap(({ writes }) =>
            writes === null
              ? []
              : [`writes meanwhile: p50 ${rounded(writes.p50)} ms, p99 ${rounded(writes.p99)} ms`],
          ),
        ],
      },
    ],
    json: {
      rows,
      limit_in_process_per_second: rounded(inProcess, 1),
      figures: measured.map((row) => ({
        clients: row.clients,
        per_second: rounded(row.figures.perSecond, 1),
        p50_ms: rounded(row.figures.p50, 3),
        p95_ms: rounded(row.figures.p95, 3),
        p99_ms: rounded(row.figures.p99, 3),
        shed: row.figures.shed,
        failed: row.figures.failed,
        writes:
          row.writes === null
            ? null
            : { per_second: rounded(row.writes.perSecond, 1), p99_ms: rounded(row.writes.p99, 3) },
        limit_bare_http_per_second: rounded(row.bareHttp, 1),
        share_of_tightest_limit: rounded(share(row), 3),
        daemon_cpu: row.daemonCpu === null ? null : rounded(row.daemonCpu),
        load_cpu: rounded(row.generatorCpu),
      })),
    },
  };
}
