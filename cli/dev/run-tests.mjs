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
const TIMEOUT_MS = long ? 3_600_000 : 600_000;
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

// Neighbours are loaded together, so many into a process: loading the modules is most of the time of most files.
const FILES_TOGETHER = 12;
// A hook outside of `describe` would run for the tests of the other files too.
const ROOT_HOOK = /^(?:before|after|beforeEach|afterEach)\(/m;
const isTogether = (path) => !isAlone(path) && !ROOT_HOOK.test(texts.get(path));

const ENTRIES = at('dist/test/together');
rmSync(ENTRIES, { recursive: true, force: true });

const folderOf = (path) => path.split('/').slice(2, -1).slice(0, 2).join('/') || 'test';

/** The files to run, each with its folder; those that are loaded together stand behind one file that imports them. */
function entriesOf(paths) {
  const folders = new Map();
  for (const path of paths.filter(isTogether)) {
    const folder = folderOf(path);
    folders.set(folder, [...(folders.get(folder) ?? []), path]);
  }
  const entries = paths
    .filter((path) => !isTogether(path))
    .map((path) => ({ path, folder: folderOf(path), tests: [] }));
  mkdirSync(ENTRIES, { recursive: true });
  for (const [folder, members] of folders) {
    const shares = Math.ceil(members.length / FILES_TOGETHER);
    for (let share = 0; share < shares; share += 1) {
      const own = members.filter((_, index) => index % shares === share);
      const entry = join(ENTRIES, `${folder.replace('/', '-')}-${share}.js`);
      writeFileSync(entry, own.map((path) => `import '${relative(ENTRIES, at(path))}';\n`).join(''));
      entries.push({ path: relative(PROJECT, entry), folder, tests: own });
    }
  }
  // Those that take longest begin first.
  return entries.sort((a, b) => b.tests.length - a.tests.length);
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
