// Runs alone: it fills a disk.
import assert from 'node:assert/strict';
import { readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import Database from 'better-sqlite3';
import { temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { smallDisk } from '../support/small-disk.js';
import { run } from '../surface/cli/cli-process.js';

const PAGE = 4096;
const ROWS = 300;
const code = (err: string) => (JSON.parse(err) as { code: string }).code;

/** Leaves this many bytes free on a disk; SQLite and the file system count in pages. */
function leave(disk: string, bytes: number): string {
  const { bavail, bsize } = statfsSync(disk);
  const ballast = join(disk, 'ballast');
  writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - bytes)));
  return ballast;
}

async function fill(home: string, more: readonly string[] = []): Promise<void> {
  const memories = Array.from({ length: ROWS }, (_, n) => ({
    title: `row ${n}`,
    content: `${n} `.repeat(500),
    tier: 'mid',
  }));
  const imported = await run(home, ['import', '--json', ...more], {
    stdin: JSON.stringify({ memories, links: [] }),
  });
  assert.equal(imported.code, 0, imported.err);
}

function countRows(db: string): number {
  const open = new Database(db, { readonly: true });
  const { n } = open.prepare('SELECT count(*) AS n FROM memories').get() as { n: number };
  open.close();
  return n;
}

it('a backup that does not fit is refused wherever the space ends, and leaves nothing', {
  timeout: 120_000,
}, async (context) => {
  const home = temporaryFolder('full-backup');
  const disk = join(home, 'disk');
  const unmount = smallDisk(disk, 16);
  if (unmount === null) return context.skip('mounting takes privileges that this run does not have');
  try {
    await fill(home);
    const to = join(disk, 'b');
    const good = await run(home, ['backup', '--to', to, '--json']);
    assert.equal(good.code, 0, good.err);
    const { bytes, path } = JSON.parse(good.out) as { bytes: number; path: string };
    const before = readdirSync(to);
    // In the middle of the copy, at its end, and before the manifest.
    for (const free of [0, PAGE, bytes >> 1, bytes - PAGE, bytes]) {
      const ballast = leave(disk, free);
      const made = await run(home, ['backup', '--to', to, '--json']);
      assert.deepEqual([made.code, made.out], [74, ''], `${free} bytes free: ${made.err}`);
      assert.equal(code(made.err), 'STORAGE_FULL');
      assert.deepEqual(readdirSync(to), before, `${free} bytes free: nothing half is left`);
      rmSync(ballast);
    }
    assert.deepEqual(auditLog(path), []);
    assert.equal((await run(home, ['backup', '--to', to])).code, 0, 'with room again it goes on');
  } finally {
    unmount();
  }
});

it('a restore that does not fit is refused and changes nothing', { timeout: 120_000 }, async (context) => {
  const home = temporaryFolder('full-restore');
  const disk = join(home, 'disk');
  const unmount = smallDisk(disk, 24);
  if (unmount === null) return context.skip('mounting takes privileges that this run does not have');
  try {
    const db = join(disk, 'mnemesh.db');
    const here = ['--db', db];
    await fill(home, here);
    const made = await run(home, ['backup', '--to', join(home, 'b'), '--json', ...here]);
    const { path, bytes } = JSON.parse(made.out) as { path: string; bytes: number };
    assert.equal((await run(home, ['store', '-T', 'later', '-c', 'x', ...here])).code, 0);
    const names = () => readdirSync(disk).filter((name) => name !== 'ballast' && !/-(wal|shm)$/.test(name));
    const before = names();
    const size = statSync(db).size;
    let restored = false;
    const ends: string[] = [];
    for (let pages = 0; !restored && pages <= 64; pages = pages === 0 ? 1 : pages * 2) {
      for (const free of [Math.floor(bytes / 2), bytes + (pages - 1) * PAGE]) {
        if (restored) break;
        const ballast = leave(disk, free);
        const answer = await run(home, ['restore', '--from', path, '--json', ...here]);
        rmSync(ballast);
        restored = answer.code === 0;
        if (restored) break;
        ends.push(`${free - bytes}: ${code(answer.err)}`);
        assert.equal(answer.code, 74, `${free - bytes} bytes to spare: ${answer.err}`);
        assert.equal(code(answer.err), 'STORAGE_FULL');
        assert.deepEqual(names(), before, `${free - bytes} bytes to spare: nothing half is left`);
        assert.equal(countRows(db), ROWS + 1);
        assert.deepEqual(auditLog(db), []);
      }
    }
    context.diagnostic(`refused with so much to spare: ${ends.join(', ')}; the database has ${size} bytes`);
    assert.ok(ends.length > 1);
    assert.ok(restored, 'with room it is restored');
    assert.equal(countRows(db), ROWS);
    assert.deepEqual(auditLog(db), []);
    assert.equal((await run(home, ['store', '-T', 'after', '-c', 'x', ...here])).code, 0);
  } finally {
    unmount();
  }
});
