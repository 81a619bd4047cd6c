import type { Bench, BenchContext } from './bench.js';
import type { BenchResult } from './report.js';
import { rounded } from './statistics.js';
import { run } from './vectors.js';

const ROWS = [100_000, 1_000_000];

/** Vector search in process on made vectors. */
export const vectorsBench: Bench = {
  name: 'vectors',
  summary:
    'Vector search on 100k and 1M made vectors in 50 namespaces, beside a plain read of the same memory.',
  usage: '[--rows 100000,1000000] [--keyword leaves the embedder out]',
  run: runVectors,
};

async function runVectors({ options, progress }: BenchContext): Promise<BenchResult> {
  const rows = options.rows ?? (options.quick ? [5000] : ROWS);
  progress.step('vectors');
  const { loads, searches, embedder } = await run({
    rows,
    queries: options.quick ? 20 : 100,
    embedder: !options.keyword && !options.quick,
    print: (line) => progress.step(line),
  });
  return {
    tables: [
      {
        title: 'vectors: the flat scan on made vectors, 512 dimensions',
        columns: ['rows', 'search', 'scanned', 'p50 ms', 'p99 ms', 'limit: plain read ms', 'of the limit'],
        rows: searches.map((figure) => [
          figure.rows,
          figure.name,
          figure.scanned,
          figure.p50Ms,
          figure.p99Ms,
          figure.limitMs,
          `${Math.round((100 * figure.limitMs) / figure.p50Ms)} %`,
        ]),
        notes: [
          ...loads.map(
            (load) => `${load.rows} rows made and inserted in ${load.ms} ms, ${load.rssMiB} MiB resident`,
          ),
          ...Object.entries(embedder ?? {}).map(([name, value]) => `embedder, ${name}: ${rounded(value, 1)}`),
        ],
      },
    ],
    json: { loads, searches, embedder },
  };
}
