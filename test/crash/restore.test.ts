import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { cleanEnvironment, MAIN, temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { TURN } from '../support/turn.js';
import { event, until } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';
import { killedRestores, store, titlesOf } from './killed-restores.js';

const KILL_EVERY = 5;

describe('restore', { timeout: 300_000 }, () => {
  // Every step has its turn; test:long has all of them.
  it('leaves the old or the new database when it is killed at any step', () =>
    killedRestores(1 + (TURN % KILL_EVERY), KILL_EVERY));

  it('never leaves a process that waited for it with the old file', async (context) => {
    if (!existsSync('/proc/self/fd')) {
      context.skip('which files a process has open cannot be seen here');
      return;
    }
    const home = temporaryFolder('restore-wait');
    const db = join(home, 'mnemesh.db');
    await store(home, 'first');
    const made = await run(home, ['backup', '--to', join(home, 'b'), '--json']);
    const { path: from } = JSON.parse(made.out) as { path: string };
    // What a restore does around its swap, slowly.
    const held = new Database(db);
    held.pragma('locking_mode = EXCLUSIVE');
    held.pragma('journal_mode = DELETE');
    held.exec('BEGIN EXCLUSIVE; COMMIT');
    const waiting = spawn(process.execPath, [MAIN, 'store', '--title', 'waited', '--content', 'x'], {
      env: cleanEnvironment(home),
    });
    const ended = event('the command that waited ends', waiting, 'close');
    const opened = () => waiting.exitCode !== null || hasOpen(waiting.pid!, db);
    await until('the command opens the database', opened);
    renameSync(db, `${db}.aside`);
    renameSync(from, db);
    held.close();
    assert.equal((await ended)[0], 0);
    assert.deepEqual(titlesOf(db), ['first', 'waited'], 'an acknowledged write is in the restored database');
    assert.deepEqual(titlesOf(`${db}.aside`), ['first']);
    assert.deepEqual(auditLog(db), []);
  });

  it('refuses a copy whose last commits are in a file beside it', async () => {
    const home = temporaryFolder('restore-hot');
    const db = join(home, 'mnemesh.db');
    await store(home, 'checkpointed');
    const copy = join(home, 'copy.db');
    const reader = new Database(db, { readonly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM memories').get();
    await store(home, 'in the write-ahead log');
    for (const end of ['', '-wal']) {
      copyFileSync(db + end, copy + end);
    }
    reader.exec('COMMIT');
    reader.close();
    const refused = await run(home, ['restore', '--from', copy, '--skip-verify', '--json']);
    assert.equal((JSON.parse(refused.err) as { code: string }).code, 'BACKUP_UNSUPPORTED');
    assert.deepEqual(titlesOf(db), ['checkpointed', 'in the write-ahead log']);
    const folder = await run(home, ['restore', '--from', home, '--skip-verify', '--json']);
    assert.equal((JSON.parse(folder.err) as { code: string }).code, 'BACKUP_UNSUPPORTED');
  });

  it('lets no side file of a lost database meet the restored one', async () => {
    const home = temporaryFolder('restore-side');
    const db = join(home, 'mnemesh.db');
    await store(home, 'kept');
    const made = await run(home, ['backup', '--to', join(home, 'b'), '--json']);
    const { path: from } = JSON.parse(made.out) as { path: string };
    rmSync(db);
    for (const end of ['-wal', '-journal']) writeFileSync(db + end, `of the lost one ${end}`);
    assert.equal((await run(home, ['restore', '--from', from])).code, 0);
    assert.deepEqual(
      readdirSync(home).filter((name) => name.startsWith('mnemesh.db-')),
      [],
    );
    assert.equal(
      readdirSync(home).filter((name) => /^mnemesh\.db\.before-restore-\d+T\d+Z-(wal|journal)$/.test(name))
        .length,
      2,
      'they are kept',
    );
    assert.deepEqual(titlesOf(db), ['kept']);
  });

  it('run twice at once, ends with one whole database and names no file twice', async () => {
    const home = temporaryFolder('restore-twice');
    const db = join(home, 'mnemesh.db');
    await store(home, 'kept');
    const made = await run(home, ['backup', '--to', join(home, 'b'), '--json']);
    const { path: from } = JSON.parse(made.out) as { path: string };
    for (let round = 0; round < 4; round += 1) {
      if (round % 2 === 1) for (const end of ['', '-wal', '-shm']) rmSync(db + end, { force: true });
      const both = await Promise.all([1, 2].map(() => run(home, ['restore', '--from', from, '--json'])));
      assert.ok(both.some(({ code }) => code === 0));
      for (const { code, err } of both) {
        if (code !== 0) assert.equal((JSON.parse(err) as { code: string }).code, 'DATABASE_IN_USE');
      }
      assert.deepEqual(titlesOf(db), ['kept']);
      assert.deepEqual(auditLog(db), []);
      assert.equal((await run(home, ['verify-signed-events-chain'])).code, 0);
    }
    assert.deepEqual(
      readdirSync(home).filter((name) => name.includes('restoring')),
      [],
    );
  });
});

/** True when a process has a file open. */
function hasOpen(pid: number, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`) === path;
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}
