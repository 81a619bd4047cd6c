import { test } from 'node:test';
import { type Counts, fuzz, fuzzSeed } from './run.js';

/** The same run each time; `FUZZ_SEED` names another. */
const SEED = fuzzSeed(20_260_728);

const RUNS: readonly Counts[] = [
  { http: 1000 },
  { mcp: 500 },
  { imports: 300, files: 800 },
  { joins: 10, peers: 600, hints: 300 },
  { owner: 1000 },
];

for (const counts of RUNS) {
  const what = Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
  test(`drawn inputs find no fault: ${what}`, { timeout: 120_000 }, (context) =>
    fuzz({ seed: SEED, counts, slices: 1, log: (line) => context.diagnostic(line) }),
  );
}
