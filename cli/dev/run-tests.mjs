import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { at, PROJECT, say } from './project.mjs';
import { TestReport } from './test-report.mjs';

// Runs the built tests: all except the long ones, or with `--long` only the long ones. Other words are parts of paths: only
// files whose path contains one of them run.
const words = process.argv.slice(2);
const long = words.includes('--long');
const parts = words.filter((word) => !word.startsWith('--'));
const TIMEOUT_MS = long ? 3_600_000 : 300_000;
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

// A test that measures time or fills a disk says so in a line of its own, and runs when no other does; of the others two
// run at a time.
const ALONE = /^\/\/ Runs alone: /m;
const texts = new Map(files.map((path) => [path, readFileSync(at(path), 'utf8')]));
const isAlone = (path) => long || ALONE.test(texts.get(path));

// Files that need nothing of the process are loaded together: loading the modules is most of their time. The number is that
// of the processes.
const TOGETHER = {
  actors: 1,
  architecture: 1,
  protocol: 3,
  storage: 3,
  'node/config': 1,
  'node/identity': 1,
  'node/pipeline': 1,
  'surface/http': 6,
};
// A hook outside of `describe` would run for the tests of the other files too.
const ROOT_HOOK = /^(?:before|after|beforeEach|afterEach)\(/m;
const togetherOf = (path) =>
  isAlone(path) || ROOT_HOOK.test(texts.get(path))
    ? undefined
    : Object.keys(TOGETHER).find((folder) => path.startsWith(join('dist/test', folder, '/')));

const ENTRIES = at('dist/test/together');
rmSync(ENTRIES, { recursive: true, force: true });

const folderOf = (path) => path.split('/').slice(2, -1).slice(0, 2).join('/') || 'test';

/** The files to run, each with its folder; those that are loaded together stand behind one file that imports them. */
function entriesOf(paths) {
  const groups = new Map();
  const entries = [];
  for (const path of paths) {
    const folder = togetherOf(path);
    if (folder === undefined) entries.push({ path, folder: folderOf(path), tests: [] });
    else groups.set(folder, [...(groups.get(folder) ?? []), path]);
  }
  mkdirSync(ENTRIES, { recursive: true });
  for (const [folder, members] of groups) {
    for (let share = 0; share < TOGETHER[folder]; share += 1) {
      const own = members.filter((_, index) => index % TOGETHER[folder] === share);
      if (own.length === 0) continue;
      const entry = join(ENTRIES, `${folder.replace('/', '-')}-${share}.js`);
      writeFileSync(entry, own.map((path) => `import '${relative(ENTRIES, at(path))}';\n`).join(''));
      // They take longest, so they begin first.
      entries.unshift({ path: relative(PROJECT, entry), folder, tests: own });
    }
  }
  return entries;
}

const groups = [
  {
    entries: entriesOf(files.filter((path) => !isAlone(path))),
    concurrency: Math.max(2, availableParallelism()),
  },
  { entries: entriesOf(files.filter(isAlone)), concurrency: 1 },
].filter(({ entries }) => entries.length > 0);

process.chdir(PROJECT);
const report = new TestReport(
  groups.flatMap(({ entries }) => entries),
  (line) => process.stdout.write(`${line}\n`),
);
for (const { entries, concurrency } of groups) {
  const given = { files: entries.map(({ path }) => path), concurrency, timeout: TIMEOUT_MS };
  for await (const event of run(given)) report.take(event);
}
const code = report.end() ? 0 : 1;
// A pipe may not have taken the last lines yet.
process.stdout.write('', () => process.exit(code));
