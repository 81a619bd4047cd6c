// Runs alone: it fills a disk.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { smallDisk } from '../../support/small-disk.js';
import { type Finished, run } from './cli-process.js';

const SKIPPED = 'mounting a small disk takes privileges that this run does not have';
const TITLE = 'on a small disk';

interface SmallNode {
  readonly disk: string;
  /** Runs a command on the database on the small disk. */
  readonly command: (...args: string[]) => Promise<Finished>;
  /** A folder on another disk. */
  readonly elsewhere: string;
  readonly flags: readonly string[];
  readonly home: string;
}

/** A home whose database, with one memory, is on a disk of its own; `end` runs last. */
async function withSmallDisk(context: TestContext, use: (node: SmallNode) => Promise<void>): Promise<void> {
  const home = temporaryFolder('l4');
  const disk = join(home, 'disk');
  const unmount = smallDisk(disk, 8);
  if (unmount === null) return context.skip(SKIPPED);
  try {
    const flags = ['--db', join(disk, 'mnemesh.db')];
    const command = (...args: string[]) => run(home, [...args, ...flags]);
    const stored = await command('store', '-T', TITLE, '-c', 'x');
    assert.equal(stored.code, 0, stored.err);
    await use({ disk, command, elsewhere: join(home, 'elsewhere'), flags, home });
  } finally {
    unmount();
  }
}

/** Fills the disk, with no file left that the connections of a database share: no connection is open. */
function fill(disk: string): string {
  for (const end of ['-wal', '-shm']) rmSync(join(disk, `mnemesh.db${end}`), { force: true });
  return fillUp(disk);
}

function fillUp(disk: string): string {
  const ballast = join(disk, 'ballast');
  const file = openSync(ballast, 'w');
  const page = Buffer.alloc(statfsSync(disk).bsize);
  try {
    for (;;) writeSync(file, page);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  } finally {
    closeSync(file);
  }
  return ballast;
}

const remount = (disk: string, mode: 'ro' | 'rw') => execFileSync('mount', ['-o', `remount,${mode}`, disk]);

function assertRefused(finished: Finished, code: string): void {
  assert.equal(finished.code, 74, finished.err);
  const failure = JSON.parse(finished.err) as { code: string; error: string };
  assert.equal(failure.code, code, finished.err);
  assert.match(failure.error, /mount it for writing|make room|the disk is full/, 'it says what to do');
}

interface Report {
  readonly sections: readonly { readonly findings: readonly { readonly code: string }[] }[];
}

const findingsOf = ({ out }: Finished) =>
  (JSON.parse(out) as Report).sections.flatMap(({ findings }) => findings.map(({ code }) => code));

describe('a disk that takes no writes', () => {
  it('full: reading commands work, writing ones say STORAGE_FULL, and nothing is called damaged', {
    timeout: 120_000,
  }, async (context) => {
    await withSmallDisk(context, async ({ disk, command, elsewhere }) => {
      const ballast = fill(disk);
      assertRefused(await command('store', '-T', 'more', '-c', 'x', '--json'), 'STORAGE_FULL');
      for (const args of [['list'], ['export'], ['recall', 'disk']]) {
        const done = await command(...args, '--json');
        assert.equal(done.code, 0, `${args[0]}: ${done.err}`);
        assert.ok(done.out.includes(TITLE), args[0]);
      }
      const made = await command('backup', '--to', elsewhere, '--json');
      assert.equal(made.code, 0, made.err);
      assertRefused(await command('backup', '--to', join(disk, 'b'), '--json'), 'STORAGE_FULL');
      const codes = findingsOf(await command('doctor', '--json'));
      assert.ok(codes.includes('DISK_FULL'), String(codes));
      assert.ok(!codes.includes('DB_DAMAGED'), String(codes));
      rmSync(ballast);
      assert.equal((await command('store', '-T', 'with room', '-c', 'x')).code, 0);
      const { path } = JSON.parse(made.out) as { path: string };
      assert.equal((await command('restore', '--from', path)).code, 0, 'the backup is whole');
    });
  });

  it('full: a daemon is refused at the start with STORAGE_FULL, repair and restore too', {
    timeout: 120_000,
  }, async (context) => {
    await withSmallDisk(context, async ({ disk, command, elsewhere }) => {
      const made = await command('backup', '--to', elsewhere, '--json');
      const { path } = JSON.parse(made.out) as { path: string };
      fill(disk);
      assertRefused(await command('serve', '--port', '0', '--json'), 'STORAGE_FULL');
      assertRefused(await command('repair', '--json'), 'STORAGE_FULL');
      assertRefused(await command('restore', '--from', path, '--json'), 'STORAGE_FULL');
      assert.equal((await command('list')).code, 0);
    });
  });

  it('full: commands beside a running daemon read on', { timeout: 120_000 }, async (context) => {
    await withSmallDisk(context, async ({ disk, command, elsewhere, flags, home }) => {
      const daemon = await startDaemonProcess(home, await freePort(), {}, flags);
      const ballast = fillUp(disk);
      try {
        for (const args of [['list'], ['export'], ['backup', '--to', elsewhere]]) {
          const done = await command(...args, '--json');
          assert.equal(done.code, 0, `${args[0]}: ${done.err}`);
        }
        assert.equal((await fetch(`${daemon.base}/memories`)).status, 200);
      } finally {
        rmSync(ballast);
        assert.equal(await daemon.end('SIGTERM'), 0, daemon.errors());
      }
    });
  });

  it('read-only: every command says so with what to do, backup works, doctor names the disk', {
    timeout: 120_000,
  }, async (context) => {
    await withSmallDisk(context, async ({ disk, command, elsewhere }) => {
      remount(disk, 'ro');
      for (const args of [
        ['list'],
        ['export'],
        ['store', '-T', 'more', '-c', 'x'],
        ['serve', '--port', '0'],
      ]) {
        assertRefused(await command(...args, '--json'), 'STORAGE_READ_ONLY');
      }
      assertRefused(await command('backup', '--to', join(disk, 'b'), '--json'), 'STORAGE_READ_ONLY');
      const made = await command('backup', '--to', elsewhere, '--json');
      assert.equal(made.code, 0, made.err);
      const codes = findingsOf(await command('doctor', '--json'));
      assert.ok(codes.includes('DISK_READ_ONLY'), String(codes));
      assert.ok(!codes.includes('DB_DAMAGED'), String(codes));
      remount(disk, 'rw');
      const { path } = JSON.parse(made.out) as { path: string };
      assert.equal((await command('restore', '--from', path)).code, 0, 'the backup is whole');
    });
  });
});
