import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { at, PROJECT, say } from './project.mjs';
import './prepare.mjs';

// `test.mjs` runs all tests except the long ones, `test.mjs --long` only the long ones. Other words are parts of paths:
// only files whose path contains one of them run.
const words = process.argv.slice(2);
const long = words.includes('--long');
const parts = words.filter((word) => !word.startsWith('--'));
const TIMEOUT_MS = long ? 3_600_000 : 300_000;

const files = readdirSync(at('dist/test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.js') && name.endsWith('.long.test.js') === long)
  .map((name) => join('dist/test', name))
  .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
  .sort();

if (files.length === 0) {
  say(parts.length === 0 ? 'the project has no such tests' : 'no test file matches');
  process.exit(parts.length === 0 ? 0 : 1);
}
const runner = spawn(
  process.execPath,
  [
    '--test',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-timeout=${TIMEOUT_MS}`,
    ...files,
  ],
  { cwd: PROJECT, stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => runner.kill(signal));
runner.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
