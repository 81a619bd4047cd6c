import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../support/daemon-process.js';
import { fuzzSeed } from './run.js';
import { Target } from './targets.js';

/** A fuzzer that others made, driven by the document that the node gives of its API. */
const FUZZER = 'schemathesis==4.32.5';
const SEED = fuzzSeed(randomInt(2 ** 31));
const EXAMPLES = Number(process.env['FUZZ_EXAMPLES'] ?? 60);
const INSTALL_WITHIN_MS = 300_000;
const RUN_WITHIN_MS = 2_400_000;

interface Ran {
  readonly code: number | string;
  readonly said: string;
}

function runProgram(program: string, args: readonly string[], timeout: number, cwd: string): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { timeout, cwd, maxBuffer: 64 * 1024 * 1024 };
    execFile(program, args, options, (error, out, err) => {
      resolve({ code: error === null ? 0 : (error.code ?? 'ended'), said: `${out}${err}` });
    });
  });
}

/** The installed program, or why there is none. */
async function install(folder: string): Promise<{ readonly program: string } | { readonly why: string }> {
  const venv = await runProgram('python3', ['-m', 'venv', join(folder, 'venv')], INSTALL_WITHIN_MS, folder);
  if (venv.code !== 0) return { why: `there is no Python with venv: ${venv.said.slice(-300)}` };
  const pip = join(folder, 'venv/bin/pip');
  const args = ['install', '--quiet', '--retries', '1', '--timeout', '20', FUZZER];
  const installed = await runProgram(pip, args, INSTALL_WITHIN_MS, folder);
  const program = join(folder, 'venv/bin/schemathesis');
  if (installed.code === 0 && existsSync(program)) return { program };
  return { why: `${FUZZER} cannot be installed here: ${installed.said.slice(-300)}` };
}

test('a fuzzer of the OpenAPI document finds no fault', {
  timeout: INSTALL_WITHIN_MS + RUN_WITHIN_MS,
}, async (context) => {
  const folder = temporaryFolder('fuzz-openapi');
  const installed = await install(folder);
  if ('why' in installed) return context.skip(installed.why);
  context.diagnostic(`FUZZ_SEED=${SEED}`);
  const target = await Target.start();
  const base = `http://127.0.0.1:${target.port}`;
  const checks =
    'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
  const ran = await runProgram(
    installed.program,
    [
      ...[
        'run',
        `${base}/openapi.json`,
        '--url',
        base,
        '--header',
        'x-agent-id: ai:root',
        '--checks',
        checks,
      ],
      // A stream has no end to wait for.
      ...['--exclude-path-regex', '/stream$'],
      ...['--max-examples', String(EXAMPLES), '--seed', String(SEED), '--workers', '2', '--no-color'],
    ],
    RUN_WITHIN_MS,
    folder,
  );
  context.diagnostic(ran.said.split('\n').slice(-25).join('\n'));
  assert.equal(ran.code, 0, `${ran.said.slice(-20_000)}\nFUZZ_SEED=${SEED} draws the same again`);
  await target.check();
  await target.end();
});
