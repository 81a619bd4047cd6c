import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanEnvironment, temporaryFolder } from '../support/daemon-process.js';
import { event, until } from '../support/wait.js';

const FOLDERS = ['protocol', 'storage', 'actors', 'node', 'cli'];

interface Block {
  readonly path: string;
  /** The text after which the block goes, or which it replaces; null for a file of its own. */
  readonly at: { readonly how: 'after' | 'instead of'; readonly text: string } | null;
  readonly code: string;
}

/** The blocks of the page. The first line of each says where it belongs. */
function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```ts\n\/\/ (\S+?)(?:, (after|instead of) "(.*)")?\n([\s\S]*?)^```$/gm)].map(
    ([, path, how, text, code]) => ({
      path: path!,
      at: how === undefined ? null : { how: how as 'after' | 'instead of', text: text! },
      code: code!,
    }),
  );
}

/** Puts a block into a source tree, its imports to the imports. */
function place(root: string, { path, at, code }: Block): void {
  const file = join(root, path);
  if (at === null) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, code, { flag: 'wx' });
    return;
  }
  const source = readFileSync(file, 'utf8');
  const [first, second, ...more] = source.split(at.text);
  assert.ok(second !== undefined && more.length === 0, `${path} must hold ${at.text} once`);
  const lines = code.trimEnd().split('\n');
  const isImport = (line: string) => line.startsWith('import ');
  const added = lines.filter((line) => !isImport(line)).join('\n');
  const changed = at.how === 'after' ? `${first}${at.text}\n${added}${second}` : `${first}${added}${second}`;
  writeFileSync(file, `${lines.filter(isImport).join('\n')}\n${changed}`);
}

describe('docs/adding.md', { timeout: 120_000 }, () => {
  const root = temporaryFolder('adding');
  const blocks = blocksOf(readFileSync('docs/adding.md', 'utf8'));

  before(() => {
    for (const folder of FOLDERS) cpSync(folder, join(root, folder), { recursive: true });
    for (const file of ['package.json', 'tsconfig.json']) cpSync(file, join(root, file));
    symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
    for (const block of blocks) place(root, block);
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const compiled = spawnSync(process.execPath, [compiler, '--outDir', 'dist'], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(compiled.stdout, '', 'the examples compile');
    assert.equal(compiled.status, 0);
  });

  const run = (home: string, ...words: string[]) =>
    execFileSync(process.execPath, [join(root, 'dist/cli/main.js'), ...words], {
      env: cleanEnvironment(home),
      encoding: 'utf8',
    });

  it('has a block for each thing that can be added', () => {
    assert.deepEqual(
      [blocks.filter(({ at }) => at === null).length, blocks.filter(({ at }) => at !== null).length],
      [5, 8],
    );
  });

  it('adds a pin that is written, listed, exported and imported', () => {
    const [one, two] = [temporaryFolder('adding-one'), temporaryFolder('adding-two')];
    const words = ['--namespace', 'team', '--title', 'Runbook', '--content', 'Restart the node.', '--json'];
    const { id } = JSON.parse(run(one, 'store', ...words)) as { id: string };
    run(one, 'pin', id, '--note', 'read this first');
    const pins = (home: string) =>
      JSON.parse(run(home, 'pins', 'team', '--json')) as { pins: object[]; unpinned: string[] };
    const [pin] = pins(one).pins as { memory_id: string; note: string }[];
    assert.deepEqual([pin!.memory_id, pin!.note], [id, 'read this first']);
    run(one, 'unpin', id);
    assert.deepEqual([pins(one).pins.length, pins(one).unpinned], [0, ['read this first']]);
    run(one, 'pin', id, '--note', 'read this first');
    const file = join(one, 'export.json');
    writeFileSync(file, run(one, 'export'));
    run(two, 'import', file);
    assert.deepEqual([pins(two).pins.length, pins(two).unpinned], [1, []], 'local rows are not exported');
  });

  it('does its duty while a daemon owns the database', async () => {
    const home = temporaryFolder('adding-duty');
    const stored = (title: string) =>
      JSON.parse(run(home, 'store', '--namespace', 'team', '--title', title, '--content', 'b', '--json')) as {
        id: string;
      };
    for (const title of ['a', 'b', 'c']) {
      const { id } = stored(title);
      run(home, 'pin', id, '--note', title);
      run(home, 'unpin', id);
    }
    const unpinned = () =>
      (JSON.parse(run(home, 'pins', 'team', '--json')) as { unpinned: string[] }).unpinned;
    assert.deepEqual(unpinned(), ['c', 'b', 'a']);
    const daemon = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'serve', '--port', '0'], {
      env: cleanEnvironment(home),
      stdio: 'ignore',
    });
    try {
      await until('the duty forgets a note', () => unpinned().length === 2, { withinMs: 30_000 });
      assert.deepEqual(unpinned(), ['c', 'b']);
    } finally {
      daemon.kill();
      await event('the daemon ends', daemon, 'exit');
    }
  });

  it('refuses a note that is longer than the setting says', () => {
    const home = temporaryFolder('adding-long');
    const stored = run(home, 'store', '--title', 'a', '--content', 'b', '--json');
    const { id } = JSON.parse(stored) as { id: string };
    assert.throws(() => run(home, 'pin', id, '--note', 'x'.repeat(201)), /must be at most 200 characters/);
  });
});
