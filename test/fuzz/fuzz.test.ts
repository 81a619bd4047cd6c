import { test } from 'node:test';
import { type Counts, fuzz, fuzzSeed } from './run.js';

/** The same run each time; `FUZZ_SEED` names another. */
const SEED = fuzzSeed(20_260_728);

const RUNS: readonly Counts[] = [
  { http: 400 },
  { mcp: 200 },
  { imports: 100, files: 300 },
  { joins: 5, peers: 200, hints: 100 },
  { local: 300 },
];

for (const counts of RUNS) {
  const what = Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
  test(`drawn inputs find no fault: ${what}`, { timeout: 120_000 }, (context) =>
    fuzz({ seed: SEED, counts, slices: 1, log: (line) => context.diagnostic(line) }),
  );
}
