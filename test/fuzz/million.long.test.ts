import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { type Counts, fuzz, fuzzSeed } from './run.js';

/**
 * Every surface in one run: `FUZZ_COUNT` says how many requests and messages in all, `FUZZ_SEED` draws a run again.
 * Watched over the whole run: the memory of the daemons, their log, and that they stay.
 */
const COUNT = Number(process.env['FUZZ_COUNT'] ?? 100_000);
const SEED = fuzzSeed(randomInt(2 ** 31));

/** Of a thousand. */
const SHARES = { http: 430, mcp: 90, imports: 60, files: 80, local: 60, joins: 2, peers: 228, hints: 50 };
const SLICES = 10;
const TIMEOUT_MS = 3_500_000 + COUNT * 5;

test(`${COUNT} drawn requests and messages find no fault`, { timeout: TIMEOUT_MS }, (context) => {
  context.diagnostic(`FUZZ_SEED=${SEED}`);
  const counts: Counts = Object.fromEntries(
    Object.entries(SHARES).map(([name, share]) => [name, Math.ceil((COUNT * share) / 1000)]),
  );
  return fuzz({ seed: SEED, counts, slices: SLICES, log: (line) => console.log(line) });
});
