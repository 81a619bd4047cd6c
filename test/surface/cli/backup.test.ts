import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { onlyOnSqlite } from '../../support/test-store.js';
import { run } from './cli-process.js';

const rowsOf = (path: string) => {
  const db = new Database(path, { readonly: true });
  const rows = db.prepare('SELECT * FROM memories ORDER BY rid').all();
  const epochs = db.prepare('SELECT db_epoch, reason FROM db_epochs ORDER BY rowid').all();
  db.close();
  return { rows, epochs: epochs as { db_epoch: string; reason: string }[] };
};
const code = (err: string) => (JSON.parse(err) as { code: string }).code;

describe('backup and restore', {
  timeout: 120_000,
  skip: onlyOnSqlite('a backup is a copy of the file'),
}, () => {
  it('survive the drill: a backup under load, a flipped byte, a good restore, a running node', async () => {
    const home = temporaryFolder('backup');
    const db = join(home, 'mnemesh.db');
    const to = join(home, 'backups');
    const daemon = await startDaemonProcess(home, await freePort());
    const store = async (title: string) => {
      const response = await fetch(`${daemon.base}/memories`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title, content: 'x'.repeat(500) }),
      });
      assert.equal(response.status, 201);
      return ((await response.json()) as { id: string }).id;
    };
    const early = await store('before the backup');
    let running = true;
    let stored = 0;
    const load = Promise.all(
      [1, 2, 3, 4].map(async (writer) => {
        for (let n = 0; running; n += 1) {
          await store(`writer ${writer} row ${n}`);
          stored += 1;
        }
      }),
    );
    const made = await run(home, ['backup', '--to', to, '--json']);
    const during = stored;
    running = false;
    await load;
    assert.equal(made.code, 0, made.err);
    assert.ok(during > 0, 'nobody wrote meanwhile');
    const backup = JSON.parse(made.out) as { path: string; manifest_path: string; bytes: number };
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(backup.manifest_path, 'utf8'))), [
      'snapshot',
      'sha256',
      'bytes',
      'source_db',
      'version',
      'created_at',
      'backend',
      'schema_version',
    ]);
    for (const path of [backup.path, backup.manifest_path]) assert.equal(statSync(path).mode & 0o777, 0o600);
    const copied = rowsOf(backup.path);
    assert.ok(copied.rows.some((row) => (row as { id: string }).id === early));
    assert.deepEqual(auditLog(backup.path), []);

    const restore = (...more: string[]) => run(home, ['restore', '--from', backup.path, '--json', ...more]);
    const refused = async (expected: string, ...more: string[]) => {
      const files = readdirSync(home).filter((name) => !/-(wal|shm)$/.test(name));
      const answer = await restore(...more);
      assert.equal(answer.code === 0 ? 'restored' : code(answer.err), expected);
      assert.deepEqual(
        readdirSync(home).filter((name) => !/-(wal|shm)$/.test(name)),
        files,
      );
    };
    await refused('DATABASE_IN_USE');
    assert.equal(await daemon.end('SIGTERM'), 0);
    const before = rowsOf(db);

    const idle = new Database(db);
    idle.prepare('SELECT count(*) FROM memories').get();
    await refused('DATABASE_IN_USE');
    idle.close();

    const good = readFileSync(backup.path);
    const damaged = Buffer.from(good);
    damaged[good.length >> 1]! ^= 1;
    writeFileSync(backup.path, damaged);
    await refused('BACKUP_DAMAGED');
    writeFileSync(backup.path, good.subarray(0, good.length - 4096));
    await refused('BACKUP_DAMAGED');
    await refused('BACKUP_DAMAGED', '--skip-verify');
    writeFileSync(backup.path, 'no database');
    await refused('BACKUP_UNSUPPORTED', '--skip-verify');
    writeFileSync(backup.path, good);
    const manifest = readFileSync(backup.manifest_path, 'utf8');
    for (const text of ['{', '{}', manifest.replace(/"snapshot": "[^"]*"/, '"snapshot": "other.db"')]) {
      writeFileSync(backup.manifest_path, text);
      await refused('BACKUP_UNVERIFIED');
    }
    rmSync(backup.manifest_path);
    await refused('BACKUP_UNVERIFIED');
    writeFileSync(backup.manifest_path, manifest);
    assert.deepEqual(rowsOf(db), before, 'no refusal changed anything');

    const done = await restore();
    assert.equal(done.code, 0, done.err);
    const { kept_as, db_epoch } = JSON.parse(done.out) as { kept_as: string; db_epoch: string };
    const after = rowsOf(db);
    assert.deepEqual(after.rows, copied.rows);
    assert.deepEqual(rowsOf(kept_as).rows, before.rows, 'what was there is kept');
    assert.deepEqual(after.epochs.at(-1), { db_epoch, reason: 'restored from backup' });
    assert.notEqual(db_epoch, before.epochs.at(-1)!.db_epoch);
    assert.equal(statSync(db).mode & 0o777, 0o600);

    const again = await startDaemonProcess(home, await freePort());
    const response = await fetch(`${again.base}/memories`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'after the restore', content: 'x' }),
    });
    assert.equal(response.status, 201);
    assert.equal((await fetch(`${again.base}/memories/${early}`)).status, 200);
    assert.equal(await again.end('SIGTERM'), 0);
    assert.deepEqual(auditLog(db), []);
  });

  it('refuses another program’s database and a newer schema, and restores where there is none', async () => {
    const home = temporaryFolder('restore-foreign');
    const foreign = join(home, 'foreign.db');
    const other = new Database(foreign);
    other.exec('CREATE TABLE notes (x)');
    other.close();
    const restore = (from: string) => run(home, ['restore', '--from', from, '--skip-verify', '--json']);
    assert.equal(code((await restore(foreign)).err), 'BACKUP_UNSUPPORTED');
    assert.equal(code((await restore(join(home, 'absent.db'))).err), 'NOT_FOUND');
    await run(home, ['store', '--title', 't', '--content', 'c']);
    const made = JSON.parse((await run(home, ['backup', '--to', join(home, 'b'), '--json'])).out) as {
      path: string;
    };
    for (const end of ['', '-wal', '-shm']) rmSync(join(home, `mnemesh.db${end}`), { force: true });
    assert.equal((await run(home, ['restore', '--from', made.path])).code, 0);
    assert.equal(rowsOf(join(home, 'mnemesh.db')).rows.length, 1);
    const newer = new Database(made.path);
    newer.prepare("INSERT INTO schema_version (version, applied_at) VALUES (99, '')").run();
    newer.close();
    assert.equal(code((await restore(made.path)).err), 'BACKUP_UNSUPPORTED');
  });

  it('prunes complete backups of this database alone', async () => {
    const home = temporaryFolder('prune');
    const to = join(home, 'b');
    assert.equal(code((await run(home, ['backup', '--to', to, '--json'])).err), 'NOT_FOUND');
    await run(home, ['store', '--title', 't', '--content', 'c']);
    const take = async (keep: string) =>
      JSON.parse((await run(home, ['backup', '--to', to, '--keep', keep, '--json'])).out) as {
        path: string;
        manifest_path: string;
        pruned: number;
      };
    const first = await take('9');
    const orphan = join(to, 'mnemesh.db-20200101T000000000Z-00000000.db');
    writeFileSync(orphan, 'incomplete');
    const second = await take('9');
    const third = await take('2');
    assert.deepEqual([first.pruned, second.pruned, third.pruned], [0, 0, 1]);
    assert.deepEqual(
      [first, second, third].map(({ path }) => existsSync(path)),
      [false, true, true],
    );
    assert.ok(existsSync(orphan));
    assert.equal((await run(home, ['backup', '--keep', '0'])).code, 2);
    // The clock was set back: the others seem to be from the future.
    for (const { manifest_path } of [second, third]) {
      const manifest = JSON.parse(readFileSync(manifest_path, 'utf8')) as { created_at: string };
      writeFileSync(manifest_path, JSON.stringify({ ...manifest, created_at: '2999-01-01T00:00:00.000Z' }));
    }
    const last = await take('1');
    assert.equal(last.pruned, 2);
    assert.ok(existsSync(last.path), 'the backup that was just made is there');
  });
});
