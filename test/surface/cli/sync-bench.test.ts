import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { onPostgres } from '../../support/test-store.js';
import { commandsIn, run } from './cli-process.js';

type Cli = ReturnType<typeof commandsIn>;

const json = async (cli: Cli, ...words: string[]) => {
  const { code, out, err } = await cli(...words, '--json');
  assert.equal(code, 0, err);
  return JSON.parse(out) as Record<string, unknown>;
};

/** Two homes, each with a memory of its own. */
async function pair(label: string) {
  const [here, there] = [temporaryFolder(label), temporaryFolder(`${label}-other`)];
  const remote = join(there, 'mnemesh.db');
  const cli = commandsIn(here);
  // It is a file on every store.
  const other: Cli = (...words) => run(there, [...words, '--db', remote]);
  await json(cli, 'store', '--title', 'mine', '--content', 'of this home');
  await json(other, 'store', '--title', 'theirs', '--content', 'of the other');
  const titles = async (of: Cli) =>
    ((await json(of, 'list'))['memories'] as { title: string }[]).map(({ title }) => title).sort();
  return { cli, other, remote, own: join(here, 'mnemesh.db'), titles };
}

describe('sync', { timeout: 180_000 }, () => {
  it('says what it would do, pulls, pushes and merges, and changes nothing when repeated', async () => {
    const { cli, other, remote, titles } = await pair('sync');
    const dry = await json(cli, 'sync', remote, '--dry-run');
    assert.deepEqual(dry, {
      ...{ dry_run: true, direction: 'merge' },
      pull: { new: 1, update: 0, noop: 0, links: 0, failed: 0 },
      push: { new: 1, update: 0, noop: 0, links: 0, failed: 0 },
    });
    assert.deepEqual(await titles(cli), ['mine']);
    assert.deepEqual(await json(cli, 'sync', remote, '-d', 'pull'), { direction: 'pull', imported: 1 });
    assert.deepEqual([await titles(cli), await titles(other)], [['mine', 'theirs'], ['theirs']]);
    assert.deepEqual(await json(cli, 'sync', remote, '-d', 'push'), { direction: 'push', exported: 1 });
    assert.deepEqual(await titles(other), ['mine', 'theirs']);
    assert.deepEqual(await json(cli, 'sync', remote), { direction: 'merge', pulled: 0, pushed: 0 });
  });

  it('refuses its own database, and one that is not there', async () => {
    const { cli, own } = await pair('sync-refused');
    // The database of a server is no file.
    assert.equal((await cli('sync', own)).code, onPostgres ? 1 : 2);
    assert.equal((await cli('sync', `${own}.none`)).code, 1);
    assert.equal((await cli('sync', own, '-d', 'sideways')).code, 2);
  });
});

describe('bench', { timeout: 180_000 }, () => {
  it('measures each kind of call beside its limit, without a trace in the home, and finds a slower one', async () => {
    const home = temporaryFolder('bench');
    const cli = commandsIn(home);
    const load = ['bench', '--iterations', '5', '--warmup', '1', '--scale', '3', '--json'];
    const history = join(home, 'history.jsonl');
    const { out } = await cli(...load, '--history', history);
    const first = JSON.parse(out) as { calls: Record<string, Record<string, number>>; scale: number };
    assert.deepEqual(Object.keys(first.calls), ['store', 'recall', 'search', 'get', 'list']);
    for (const { p50_ms, p95_ms, max_ms, limit_ms } of Object.values(first.calls)) {
      assert.ok(0 < p50_ms! && p50_ms! <= p95_ms! && p95_ms! <= max_ms! && limit_ms! > 0);
    }
    assert.deepEqual(JSON.parse(readFileSync(history, 'utf8')), first);
    assert.deepEqual(JSON.parse((await cli('stats', '--json')).out).total, 0);
    const base = join(home, 'base.json');
    const fast = Object.fromEntries(Object.keys(first.calls).map((name) => [name, { p95_ms: 0.0001 }]));
    writeFileSync(base, JSON.stringify({ calls: fast }));
    const slower = await cli(...load, '--baseline', base);
    assert.equal(slower.code, 1);
    assert.equal((JSON.parse(slower.out) as { regressed: string[] }).regressed.length, 5);
    assert.equal((await cli('bench', '--baseline', join(home, 'none.json'))).code, 1);
    assert.equal((await cli('bench', '--iterations', 'many')).code, 2);
  });

  it('measures the node that runs, and leaves none of its memories there', async () => {
    const home = temporaryFolder('bench-running');
    const cli = commandsIn(home);
    const load = ['bench', '--running', '--iterations', '5', '--warmup', '1', '--json'];
    const alone = await cli(...load);
    assert.equal(alone.code, 75, alone.err);
    assert.match(alone.err, /no node serves this database: start one with serve/);
    const daemon = await startDaemonProcess(home, await freePort());
    try {
      await json(cli, 'store', '--title', 'kept', '--content', 'x');
      const { out, err } = await cli(...load);
      assert.deepEqual(Object.keys((JSON.parse(out) as { calls: object }).calls).length, 5, err);
      const { memories } = await json(cli, 'list');
      assert.deepEqual(
        (memories as { title: string }[]).map(({ title }) => title),
        ['kept'],
      );
      // They were stored at that node: it keeps copies of what was forgotten.
      const { archived } = await json(cli, 'archive', 'list');
      assert.equal(
        (archived as { namespace: string }[]).filter(({ namespace }) => namespace.startsWith('bench/'))
          .length,
        6,
      );
      assert.equal((await cli(...load, '--scale', '5')).code, 2);
    } finally {
      assert.equal(await daemon.end('SIGTERM'), 0);
    }
  });
});
