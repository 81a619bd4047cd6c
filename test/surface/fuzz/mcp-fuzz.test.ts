import { test } from 'node:test';
import { fuzzMcp } from './mcp-fuzz.js';

const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_728);

test('500 drawn lines of MCP find no fault', { timeout: 120_000 }, (context) =>
  fuzzMcp({ seed: SEED, lines: 500, log: (line) => context.diagnostic(line) }),
);
