import { test } from 'node:test';
import { fuzzMcp } from './mcp-fuzz.js';

const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);

test('10,000 drawn lines of MCP find no fault', { timeout: 1_800_000 }, (context) => {
  context.diagnostic(`FUZZ_SEED=${SEED}`);
  return fuzzMcp({ seed: SEED, lines: 10_000, log: (line) => context.diagnostic(line) });
});
