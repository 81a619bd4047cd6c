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
import { event, until } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';

const titlesOf = (path: string): string[] => {
  const db = new Database(path, { readonly: true });
  const titles = db.prepare('SELECT title FROM memories ORDER BY title').pluck().all() as string[];
  db.close();
  return titles;
};
const store = (home: string, title: string) => run(home, ['store', '--title', title, '--content', 'x']);

/** Kills the process before the nth call that changes the names or contents of files. */
const killAt = (n: number) => {
  const source = `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; let calls = 0;
    for (const name of ['copyFileSync', 'renameSync', 'linkSync', 'rmSync', 'fsyncSync']) {
      const real = fs[name];
      fs[name] = (...args) => {
        calls += 1;
        if (calls === ${n}) process.kill(process.pid, 'SIGKILL');
        return real(...args);
      };
    }
    syncBuiltinESMExports();`;
  return `--import data:text/javascript;base64,${Buffer.from(source).toString('base64')}`;
};

describe('restore', { timeout: 300_000 }, () => {
  it('leaves the old or the new database when it is killed at any step', async () => {
    const home = temporaryFolder('restore-kill');
    const db = join(home, 'mnemesh.db');
    await store(home, 'old and new');
    await store(home, 'forgotten');
    await run(home, ['forget', '--pattern', 'forgotten']);
    const made = await run(home, ['backup', '--to', join(home, 'b'), '--json']);
    const { path: from } = JSON.parse(made.out) as { path: string };
    let killed = 0;
    let which = 'new';
    let old: string[] = [];
    for (let n = 1; ; n += 1) {
      assert.ok(n < 60, 'it never comes to its end');
      if (which === 'new') {
        assert.equal((await store(home, `later ${n}`)).code, 0);
        await run(home, ['forget', '--pattern', 'later']);
        assert.equal((await store(home, `last ${n}`)).code, 0);
        old = titlesOf(db);
      }
      const done = await run(home, ['restore', '--from', from], { env: { NODE_OPTIONS: killAt(n) } });
      const now = titlesOf(db);
      which = JSON.stringify(now) === JSON.stringify(old) ? 'old' : 'new';
      if (which === 'new') assert.deepEqual(now, ['old and new'], `killed at ${n}`);
      assert.deepEqual(auditLog(db), [], `killed at ${n}`);
      const chain = await run(home, ['verify-signed-events-chain']);
      assert.equal(chain.code, 0, `killed at ${n}, ${which}: ${chain.err}`);
      if (done.code === 0) {
        assert.equal(which, 'new');
        break;
      }
      assert.equal(done.code, 'SIGKILL', done.err);
      killed += 1;
    }
    assert.ok(killed >= 10, `it was killed at ${killed} steps`);
  });

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
