import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { FETCHED_VERSIONS, fetchPostgres } from './fetch-postgres.mjs';
import { at, PROJECT, say } from './project.mjs';
import { TestReport } from './test-report.mjs';

// Runs the built tests: all except the long ones, or with `--long` only the long ones, and on PostgreSQL those that say what a
// caller sees; with `--store postgres` on a server that is started for them. Other words are parts of paths: only files whose path contains one of them run.
const {
  values: { long, store = process.env.TEST_STORE ?? 'sqlite' },
  positionals: parts,
} = parseArgs({
  options: { long: { type: 'boolean', default: false }, store: { type: 'string' } },
  allowPositionals: true,
});
// A database on a server is made slower than one in memory.
const TIMEOUT_MS = long ? 3_600_000 : store === 'postgres' ? 1_800_000 : 600_000;
/** How long a process may go on after its last test, and after a failure without a further event. */
const END_MS = 30_000;
const SILENT_MS = 120_000;
const TESTS = at('dist/test');

const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.js') && name.endsWith('.long.test.js') === long)
  .map((name) => join('dist/test', name))
  .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
  .sort();

if (files.length === 0) {
  say(parts.length === 0 ? 'the project has no such tests' : 'no test file matches');
  process.exit(parts.length === 0 ? 0 : 1);
}

// A test that measures time or fills a disk says so in a line of its own, and runs when no other does; the others run
// beside each other, more than there are processors, since many wait most of their time.
const ALONE = /^\/\/ Runs alone: /m;
const texts = new Map(files.map((path) => [path, readFileSync(at(path), 'utf8')]));
const isAlone = (path) => long || ALONE.test(texts.get(path));

// Neighbours are loaded together, so many into a process: loading the modules is most of the time of most files.
const FILES_TOGETHER = 16;
const CONCURRENCY = Math.max(3, availableParallelism());

const ENTRIES = at('dist/test/together');
rmSync(ENTRIES, { recursive: true, force: true });

/** The folder that a file is counted in. */
const folderOf = (path) => path.split('/').slice(2, -1).slice(0, 2).join('/') || 'test';
const areaOf = (path) => folderOf(path).split('/')[0];

/** The text of a file that loads others, each into a suite of its own: a hook outside of `describe` is for its file alone. */
const loading = (paths) =>
  [
    `import { declared, load } from '${relative(ENTRIES, at('cli/dev/test-watch.mjs'))}';`,
    ...paths.map(
      (path) => `load('${path}', new URL('${relative(ENTRIES, at(path))}', import.meta.url).href);`,
    ),
    'await declared();',
    '',
  ].join('\n');

/** A file that loads others, which run in one process. */
function entryOf(name, tests, share = 0) {
  mkdirSync(ENTRIES, { recursive: true });
  const path = join(ENTRIES, `${name}.js`);
  writeFileSync(path, loading(tests));
  return { path: relative(PROJECT, path), tests, share };
}

/** What runs in one process each: neighbours, in entries whose names begin with `prefix`. */
function entriesOf(paths, prefix = '') {
  const areas = new Map();
  for (const path of paths) areas.set(areaOf(path), [...(areas.get(areaOf(path)) ?? []), path]);
  const entries = [...areas].flatMap(([area, members]) => {
    const shares = Math.ceil(members.length / FILES_TOGETHER);
    return Array.from({ length: shares }, (_, share) => {
      const tests = members.filter((_, index) => index % shares === share);
      return entryOf(`${prefix}${area}-${share}`, tests, share);
    });
  });
  // Areas take turns, so that those that wait run beside those that compute.
  return entries.sort((a, b) => a.share - b.share);
}

process.chdir(PROJECT);
const server = store === 'postgres' ? await startServer() : null;
// Read by test/support/test-store.ts.
process.env.TEST_STORE = store;

/** A server for the tests, which keeps nothing: each home has a database of its own there. */
async function startServer() {
  const { PostgresServer } = await import('../../dist/test/support/postgres-server.js');
  const started = await PostgresServer.startOwn(['fsync=off', 'max_connections=500']);
  process.env.PG_TEST_URL = `${started.base}/postgres`;
  return started;
}

/** In the long form: the surfaces with governance, events, tenancy and quotas, and the graph, where a server can be started. */
async function passesOnPostgres() {
  if (!long || parts.length > 0 || server !== null) return true;
  const { withoutOwnServer } = await import('../../dist/test/support/postgres-server.js');
  say(withoutOwnServer === false ? 'the same on PostgreSQL' : `not on PostgreSQL: ${withoutOwnServer}`);
  if (withoutOwnServer !== false) return true;
  const suites = [
    'test/surface',
    'test/coordination',
    'test/storage/graph',
    'test/storage/webhooks',
    'test/storage/quota',
  ];
  return runAgain(['--store', 'postgres', ...suites], {});
}

/** In the long form: the contract of the storage on the servers of each version that have both extensions. */
async function passesOnVersions() {
  if (!long || parts.length > 0 || server !== null) return true;
  let passed = true;
  for (const version of FETCHED_VERSIONS) {
    try {
      const programs = await fetchPostgres(version);
      say(`PostgreSQL ${version} with AGE and pgvector`);
      const env = { PG_TEST_BIN: programs };
      const suites = ['test/contract', 'test/storage/postgres'];
      passed = (await runAgain(suites, env)) && passed;
    } catch (error) {
      say(`not on PostgreSQL ${version}: ${error.message}`);
    }
  }
  return passed;
}

/** Runs other tests in a process of its own. */
async function runAgain(words, env) {
  const again = spawn(process.execPath, [fileURLToPath(import.meta.url), ...words], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  const [status] = await once(again, 'exit');
  return status === 0;
}

const report = new TestReport(folderOf, (line) => process.stdout.write(`${line}\n`));
// Each process has a stream of its events, which listens to this one.
process.setMaxListeners(0);

/** Ends a process that something keeps open once its tests are over, or that a failure left hanging. */
function endingOf({ tests }) {
  const controller = new AbortController();
  const left = new Set(tests);
  let timer;
  let failed = false;
  let over = false;
  const endLater = (ms, why) => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(new Error(why)), ms);
  };
  const hear = ({ type, data }) => {
    failed ||= type === 'test:complete' && data.details.error !== undefined;
    if (type === 'test:complete' && data.nesting === 0) left.delete(data.name);
    if (over) return;
    over = left.size === 0;
    if (over)
      endLater(END_MS, `its tests are over for ${END_MS / 1000} s, and something keeps the process open`);
    else if (failed && !long)
      endLater(SILENT_MS, `nothing was heard for ${SILENT_MS / 1000} s after a failure`);
  };
  return { signal: controller.signal, hear, done: () => clearTimeout(timer) };
}

/** Runs all of them, so many at a time. */
async function runAll(entries, concurrency) {
  const left = [...entries];
  const runNext = async () => {
    for (let entry = left.shift(); entry !== undefined; entry = left.shift()) {
      const take = report.of(entry);
      const ending = endingOf(entry);
      const options = { files: [entry.path], timeout: TIMEOUT_MS, signal: ending.signal };
      for await (const event of run(options)) {
        ending.hear(event);
        take(event);
      }
      ending.done();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runNext));
}

await runAll(entriesOf(files.filter((path) => !isAlone(path))), CONCURRENCY);
const alone = files.filter(isAlone);
// Those of the long form need a heap of their own.
await runAll(
  long ? alone.map((path, index) => entryOf(`alone-${index}`, [path])) : entriesOf(alone, 'alone-'),
  1,
);
await server?.stop();
const passed = report.end();
const passedOnPostgres = await passesOnPostgres();
const code = passed && passedOnPostgres && (await passesOnVersions()) ? 0 : 1;
// A pipe may not have taken the last lines yet.
process.stdout.write('', () => process.exit(code));
