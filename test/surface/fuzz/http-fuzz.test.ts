import { test } from 'node:test';
import { fuzzHttp } from './http-fuzz.js';

/** `FUZZ_SEED` replays another run. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_728);

test('1,000 drawn HTTP requests find no fault', { timeout: 120_000 }, (context) =>
  fuzzHttp({ seed: SEED, requests: 1000, replayEvery: 500, log: (line) => context.diagnostic(line) }),
);
