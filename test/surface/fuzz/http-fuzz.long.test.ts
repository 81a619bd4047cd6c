import { test } from 'node:test';
import { fuzzHttp } from './http-fuzz.js';

/** Another run each time; `FUZZ_SEED` replays one. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);

test('24,000 drawn HTTP requests find no fault', { timeout: 1_800_000 }, (context) => {
  context.diagnostic(`FUZZ_SEED=${SEED}`);
  return fuzzHttp({
    seed: SEED,
    requests: 24_000,
    replayEvery: 2000,
    log: (line) => context.diagnostic(line),
  });
});
