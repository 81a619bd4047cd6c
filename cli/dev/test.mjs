import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
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
// Tests that load the machine or measure time run one file at a time, the others two.
const HEAVY = [
  'bench',
  'crash',
  'fuzz',
  'hardening',
  'mesh',
  'sim',
  'surface/governance',
  'surface/local',
  'surface/mcp',
];
const isHeavy = (path) => long || HEAVY.some((folder) => path.startsWith(join('dist/test', folder, '/')));
const groups = [
  { files: files.filter((path) => !isHeavy(path)), concurrency: 2 },
  { files: files.filter(isHeavy), concurrency: 1 },
].filter((group) => group.files.length > 0);

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop.abort());

const TOTAL = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;
const totals = new Map();

/** The events of all groups as those of one run, with the sums of their totals at the end. */
async function* events() {
  for (const group of groups) {
    for await (const event of run({ ...group, timeout: TIMEOUT_MS, signal: stop.signal })) {
      const [, name, value] = (event.type === 'test:diagnostic' && TOTAL.exec(event.data.message)) || [];
      if (name !== undefined) totals.set(name, (totals.get(name) ?? 0) + Number(value));
      else yield event;
    }
  }
  for (const [name, sum] of totals)
    yield { type: 'test:diagnostic', data: { nesting: 0, message: `${name} ${sum}` } };
}

process.chdir(PROJECT);
await pipeline(Readable.from(events()), new spec(), process.stdout, { end: false });
process.exit(totals.get('fail') === 0 && totals.get('cancelled') === 0 ? 0 : 1);
