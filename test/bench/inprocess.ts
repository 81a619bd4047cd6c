import { EXTEND_SECONDS, PROMOTE_ACCESS_COUNT } from '../../protocol/base/limits.js';
import type { Memory } from '../../protocol/memory/memory.js';
import { Reader } from '../../storage/sql/reader.js';
import { OPERATOR } from '../support/memories.js';
import type { Bench, BenchContext } from './bench.js';
import { type BenchDatabase, fill, openBenchDatabase, storeCommand } from './database.js';
import type { BenchResult } from './report.js';
import { interpolated, type Percentiles, percentiles, rounded } from './statistics.js';

const NAMESPACE = 'mnemesh-bench';
const SEED_ROWS = 200;
const LIMIT = 10;

/** The steps of the reference's own command, so that its table and ours have the same rows. */
export const inprocessBench: Bench = {
  name: 'inprocess',
  summary: "The reference's in-process steps: store, search, recall, without HTTP.",
  usage: '[--scale 10000] [--iterations 200] [--warmup 20]',
  run: runInProcess,
};

interface Step {
  readonly operation: string;
  readonly label: string;
  readonly figures: Percentiles;
  readonly limit: Percentiles;
  readonly samples: number;
}

/** A row of the workload (reference-federation §3.4). */
function row(index: number, prefix: string): Partial<Memory> {
  return {
    tier: 'long',
    namespace: NAMESPACE,
    title: `bench-${prefix}-${index}`,
    content: `bench memory ${index} content about topic ${index % 50} category ${index % 10} for ${prefix} workload`,
    priority: (index % 9) + 1,
    source: 'bench',
    metadata: { agent_id: 'bench' },
  };
}

async function runInProcess({ options, progress }: BenchContext): Promise<BenchResult> {
  const { iterations, warmup } = options;
  const scale = options.scale > 0 ? options.scale : options.quick ? 1000 : 0;
  const database = openBenchDatabase(':memory:', 'OFF');
  try {
    progress.step(`in process: ${scale} rows`);
    fill(
      database,
      scale,
      (index) => row(index, 'scale'),
      (done) => progress.at(done, scale),
    );
    const timed = (act: (index: number) => void) => measure(act, iterations, warmup);
    const steps = [storeStep(database, timed), searchStep(database, timed), recallStep(database, timed)].map(
      (step) => ({ ...step, samples: iterations }),
    );
    return report(steps, scale);
  } finally {
    database.close();
  }
}

function measure(act: (index: number) => void, iterations: number, warmup: number): Percentiles {
  const samples: number[] = [];
  for (let index = 0; index < warmup + iterations; index += 1) {
    const start = performance.now();
    act(index);
    if (index >= warmup) samples.push(performance.now() - start);
  }
  return percentiles(samples, interpolated);
}

type Timed = (act: (index: number) => void) => Percentiles;

function storeStep({ db, write }: BenchDatabase, timed: Timed) {
  const figures = timed((index) => write([storeCommand(row(index, 'store'))]));
  // The same row in a transaction of its own without a decision, a savepoint or an operation of the log.
  const insert = db.prepare(
    `INSERT INTO memories (id, tier, namespace, title, content, created_at, updated_at, metadata, priority, source, ns_id)
     SELECT ?, 'long', ?, ?, ?, ?, ?, '{"agent_id":"bench"}', 5, 'bench', ns_id FROM namespaces WHERE name = ?`,
  );
  const fullText = db.prepare(
    `INSERT INTO memories_fts (rowid, title, content, tags, nst)
     SELECT rid, title, content, tags, 'n' || ns_id FROM memories WHERE rid = ?`,
  );
  const both = db.transaction((index: number, title: string, content: string, now: string) => {
    fullText.run(
      insert.run(`limit-${index}`, NAMESPACE, title, content, now, now, NAMESPACE).lastInsertRowid,
    );
  });
  const now = new Date().toISOString();
  const limit = timed((index) => {
    const { title, content } = row(index, 'limit');
    both(index, title!, content!, now);
  });
  db.exec("DELETE FROM memories WHERE id LIKE 'limit-%'");
  return { operation: 'store_no_embedding', label: 'store, one command to a transaction', figures, limit };
}

function searchStep(database: BenchDatabase, timed: Timed) {
  seed(database, 'search');
  const reader = new Reader(database.db);
  const now = new Date().toISOString();
  const filter = {
    namespace: NAMESPACE,
    tier: null,
    minPriority: null,
    since: null,
    until: null,
    tags: [],
    agentId: null,
    viewer: OPERATOR,
    now,
    limit: LIMIT,
    offset: 0,
  };
  const figures = timed((index) => {
    const found = reader.run({
      kind: 'search-memories',
      query: `topic-${index % 50}`,
      filter,
      sourceUri: null,
    });
    if (!found.ok) throw new Error(found.error.message);
  });
  const limit = fullTextLimit(database, timed, (index) => `"topic" AND "${index % 50}"`);
  return { operation: 'search_fts', label: 'search, every word', figures, limit };
}

function recallStep(database: BenchDatabase, timed: Timed) {
  seed(database, 'recall');
  const reader = new Reader(database.db);
  const policy = { extendSeconds: EXTEND_SECONDS, promoteAccessCount: PROMOTE_ACCESS_COUNT };
  const recall = (query: string) => {
    const now = new Date().toISOString();
    const request = {
      query,
      namespace: NAMESPACE,
      limit: LIMIT,
      tags: [],
      since: null,
      until: null,
      kinds: null,
      viewer: OPERATOR,
      now,
      vectors: null,
    };
    const found = reader.run({ kind: 'recall-memories', request });
    if (!found.ok) throw new Error(found.error.message);
    const touches = found.value.rows.map(({ memory }) => ({ id: memory.id, count: 1, lastAt: now }));
    database.write([{ kind: 'touch-memories', touches, policy }]);
  };
  recall('topic 0 category 0');
  const figures = timed((index) => recall(`topic ${index % 50} category ${index % 10}`));
  const limit = fullTextLimit(
    database,
    timed,
    (index) => `"topic" OR "${index % 50}" OR "category" OR "${index % 10}"`,
  );
  return { operation: 'recall_hot', label: 'recall by keyword, touches written', figures, limit };
}

/** The engine's own ranking of one expression, best rows first, without anything of the service. */
function fullTextLimit(
  { db }: BenchDatabase,
  timed: Timed,
  expression: (index: number) => string,
): Percentiles {
  const ranked = db.prepare(
    `SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? ORDER BY bm25(memories_fts) LIMIT ${LIMIT}`,
  );
  return timed((index) => ranked.all(expression(index)));
}

function seed(database: BenchDatabase, prefix: string): void {
  fill(
    database,
    SEED_ROWS,
    (index) => row(index, prefix),
    () => {},
  );
}

function report(steps: readonly Step[], scale: number): BenchResult {
  return {
    tables: [
      {
        title: `in process: a database in memory, ${scale} rows before the steps`,
        columns: [
          'operation',
          'step',
          'p50 ms',
          'p95 ms',
          'p99 ms',
          'limit: bare SQL p50',
          'limit: p95',
          'samples',
        ],
        rows: steps.map(({ operation, label, figures, limit, samples }) => [
          operation,
          label,
          figures.p50,
          figures.p95,
          figures.p99,
          limit.p50,
          limit.p95,
          samples,
        ]),
        notes: [
          'bare SQL: the same INSERT without operation log and decision; plain bm25 over the same words',
          'the graph steps (kg_query, kg_timeline) are those of the benchmark "graph"',
        ],
      },
    ],
    json: {
      scale,
      results: steps.map(({ operation, label, figures, limit, samples }) => ({
        operation,
        label,
        measured_p50_ms: rounded(figures.p50, 4),
        measured_p95_ms: rounded(figures.p95, 4),
        measured_p99_ms: rounded(figures.p99, 4),
        limit_p50_ms: rounded(limit.p50, 4),
        limit_p95_ms: rounded(limit.p95, 4),
        samples,
      })),
      left_out: ['kg_query_depth1', 'kg_query_depth3', 'kg_query_depth5', 'kg_timeline'],
    },
  };
}
