import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, it } from 'node:test';
import { DatabaseRefusedError } from '../../storage/sql/database-setup.js';
import { openWriter } from '../../storage/sqlite/connection.js';
import { schemaVersion } from '../../storage/sqlite/file-schema.js';
import { MIGRATION_STEPS, migrate, upgrade } from '../../storage/sqlite/migrations/migrate.js';
import { dropAside, moveRows, setAside } from '../../storage/sqlite/migrations/tables.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import { makeOlderDatabase, OLDER_LINKS, OLDER_STANDARDS, openOptions } from './older-databases.js';
import { OLDER_MEMORIES, uuid } from './older-memories.js';
import {
  all,
  dump,
  NOW_MS,
  one,
  openingScript,
  runChild,
  startChild,
  url,
  workspace,
} from './older-workspace.js';

const { tracked, file, olderFile, migrated, backups } = workspace();

describe('an upgrade that cannot be done', () => {
  function assertRefused(path: string, message: RegExp): void {
    const before = dump(path);
    assert.throws(
      () => migrated(path),
      (error: unknown) => error instanceof DatabaseRefusedError && message.test(error.message),
    );
    assert.deepEqual(dump(path), before);
  }

  for (const [format, change, message] of [
    ['an earlier format', 'PRAGMA user_version = 2', /unreleased version/],
    [
      'a format that lacks what came last',
      'DROP INDEX memory_links_earlier; DROP INDEX memory_links_earlier_target; ALTER TABLE memory_links DROP COLUMN earlier',
      /unreleased version/,
    ],
    ['a later format', 'PRAGMA user_version = 4', /newer release/],
  ] as const) {
    it(`refuses ${format} of today's schema`, () => {
      const path = file('format.db');
      const db = openDatabase(openOptions(path, NOW_MS));
      db.exec(change);
      db.close();
      assertRefused(path, message);
    });
  }

  it('refuses when the snapshot exists, changes nothing and keeps that file', () => {
    const path = olderFile(49);
    const taken = `${path}.pre-migration-v49-to-v55-00112233445566ff.bak`;
    writeFileSync(taken, 'precious');
    assertRefused(path, /snapshot .* could not be written \(EEXIST/);
    assert.equal(readFileSync(taken, 'utf8'), 'precious');
    assert.deepEqual(backups(), [basename(taken)]);
  });

  it('refuses when the manifest exists, and takes its snapshot away again', () => {
    const path = olderFile(50);
    const taken = `${path}.pre-migration-v50-to-v55-00112233445566ff.manifest.json`;
    writeFileSync(taken, '{}');
    assertRefused(path, /EEXIST/);
    assert.deepEqual(backups(), [basename(taken)]);
  });

  it('refuses when the file system cannot take the snapshot', () => {
    const path = file(`${'n'.repeat(230)}.db`);
    makeOlderDatabase(path, 49).close();
    assertRefused(path, /ENAMETOOLONG/);
    assert.deepEqual(backups(), []);
  });

  it('refuses when the disk is too small for the snapshot, and leaves no part of it', async () => {
    const path = olderFile(49, { extraMemories: 4000 });
    const before = dump(path);
    const limitKiB = Math.floor(statSync(path).size / 2048);
    const { output } = await runChild(openingScript(path), { fileSizeLimitKiB: limitKiB });
    assert.match(output, /refused: .*snapshot .* could not be written/);
    assert.deepEqual(backups(), []);
    assert.deepEqual(dump(path), before);
    assert.equal(schemaVersion(migrated(path)), 55);
  });

  for (const failing of MIGRATION_STEPS.map((step) => step.to)) {
    it(`is undone whole when the step to ${failing} throws after its work`, () => {
      const path = olderFile(49);
      const before = dump(path);
      const steps = MIGRATION_STEPS.map((step) =>
        step.to !== failing
          ? step
          : {
              to: step.to,
              apply: (...parameters: Parameters<typeof step.apply>) => {
                step.apply(...parameters);
                throw new Error('lightning');
              },
            },
      );
      const db = tracked(openWriter(path, 1000));
      assert.throws(
        () => upgrade(db, openOptions(path, NOW_MS), steps),
        (error: unknown) =>
          error instanceof DatabaseRefusedError && error.message.includes(`step to ${failing}: lightning`),
      );
      assert.equal(schemaVersion(db), 49);
      assert.equal(db.pragma('foreign_keys', { simple: true }), 1);
      assert.deepEqual(dump(path), before);
      // Or every start would leave another copy.
      assert.deepEqual(backups(), []);
      migrate(db, openOptions(path, NOW_MS));
      assert.equal(schemaVersion(db), 55);
    });
  }

  it('leaves the old version and a snapshot when the process is killed inside', async () => {
    const path = olderFile(49);
    const before = dump(path);
    const script = `
      import { openWriter } from ${url('../../storage/sqlite/connection.js')};
      import { MIGRATION_STEPS, upgrade } from ${url('../../storage/sqlite/migrations/migrate.js')};
      import { openOptions } from ${url('./older-databases.js')};
      const steps = [...MIGRATION_STEPS, { to: 56, apply: () => process.kill(process.pid, 'SIGKILL') }];
      upgrade(openWriter(${JSON.stringify(path)}, 1000), openOptions(${JSON.stringify(path)}, ${NOW_MS}), steps);
    `;
    const { signal } = await runChild(script);
    assert.equal(signal, 'SIGKILL');
    assert.equal(backups().length, 2);
    assert.deepEqual(dump(path), before);
    assert.equal(schemaVersion(migrated(path, 'bbbbbbbbbbbbbbbb')), 55);
  });

  it('refuses versions below 49 and says from where it upgrades', () => {
    const path = olderFile(49);
    const db = openSqlite(path);
    db.exec('DELETE FROM schema_version WHERE version = 49');
    db.close();
    assertRefused(path, /schema version 48; this release upgrades from 49 on/);
    assert.deepEqual(backups(), []);
  });

  it('refuses rows that are encrypted at rest, of which it would lose the content', () => {
    const path = olderFile(51);
    const db = openSqlite(path);
    db.prepare("UPDATE memories SET encrypted_envelope = x'01' WHERE id = ?").run(uuid(2));
    db.close();
    assertRefused(path, /1 rows of memories are encrypted at rest/);
    assert.deepEqual(backups(), []);
  });

  it('refuses when the disk fills up during the upgrade itself', async () => {
    const path = olderFile(49, { extraMemories: 4000 });
    const before = dump(path);
    // Room for the snapshot, not for the new tables.
    const limitKiB = Math.ceil((statSync(path).size * 1.1) / 1024);
    const { output } = await runChild(openingScript(path), { fileSizeLimitKiB: limitKiB });
    assert.match(output, /refused: the upgrade to schema version 55 failed/);
    assert.deepEqual(dump(path), before);
    assert.equal(schemaVersion(migrated(path)), 55);
  });

  it('refuses when the snapshot is not sound', () => {
    const path = olderFile(49);
    const db = openSqlite(path);
    db.unsafeMode();
    db.exec("UPDATE memories_fts_data SET block = x'00' WHERE id > 10");
    db.close();
    assertRefused(path, /integrity check says: .*fts/i);
    assert.deepEqual(backups(), []);
  });

  it('refuses a result with a reference to a row that does not exist', () => {
    const path = olderFile(49);
    const breaking = {
      to: 55,
      apply: (...[connection, context]: Parameters<(typeof MIGRATION_STEPS)[number]['apply']>) => {
        MIGRATION_STEPS.at(-1)!.apply(connection, context);
        connection.exec(
          "INSERT INTO memory_embeddings (rid, model, dim, vectors) VALUES (4711, 'm', 1, x'00')",
        );
      },
    };
    const db = tracked(openWriter(path, 1000));
    const steps = [...MIGRATION_STEPS.slice(0, -1), breaking];
    assert.throws(
      () => upgrade(db, openOptions(path, NOW_MS), steps),
      /broken references: .*memory_embeddings/,
    );
    assert.throws(
      () => upgrade(db, openOptions(path, NOW_MS), MIGRATION_STEPS.slice(0, -1)),
      /the steps end at version 54/,
    );
    assert.equal(schemaVersion(db), 49);
  });

  it('refuses to drop a table whose rows have not all arrived', () => {
    const db = tracked(makeOlderDatabase(':memory:', 49));
    setAside(db, 'sync_state');
    db.exec('CREATE TABLE sync_state (agent_id TEXT)');
    assert.throws(() => dropAside(db, 'sync_state'), /had 1 rows and would have 0/);
    moveRows(db, 'sync_state');
    assert.deepEqual(all(db, 'SELECT * FROM sync_state'), [{ agent_id: 'a' }]);
  });
});

describe('several processes', () => {
  it('wait for the one that upgrades, and find its result', async () => {
    const path = olderFile(49);
    const holder = startChild(`
      import { readSync } from 'node:fs';
      import { openWriter } from ${url('../../storage/sqlite/connection.js')};
      import { MIGRATION_STEPS, upgrade } from ${url('../../storage/sqlite/migrations/migrate.js')};
      import { openOptions } from ${url('./older-databases.js')};
      const path = ${JSON.stringify(path)};
      const wait = { to: 55, apply: (db, context) => {
        console.log('ready');
        readSync(0, Buffer.alloc(1));
        MIGRATION_STEPS.at(-1).apply(db, context);
      } };
      upgrade(openWriter(path, 1000), openOptions(path, ${NOW_MS}, 'aaaaaaaaaaaaaaaa'), [...MIGRATION_STEPS.slice(0, -1), wait]);
      console.log('upgraded');
    `);
    await holder.ready;
    const waiter = startChild(openingScript(path, 'bbbbbbbbbbbbbbbb', true));
    await waiter.ready;
    waiter.go();
    holder.go();
    const [held, waited] = await Promise.all([holder.done, waiter.done]);
    assert.match(held.output, /upgraded/);
    assert.match(waited.output, /opened 55/);
    assert.ok(backups().every((name) => name.includes('aaaaaaaaaaaaaaaa')));
    assert.equal(backups().length, 2);
  });

  for (const journalMode of ['wal', 'delete']) {
    it(`upgrade once when both open an old database (${journalMode}) at the same moment`, async () => {
      const path = olderFile(49, { extraMemories: 1500, journalMode });
      const first = startChild(openingScript(path, 'aaaaaaaaaaaaaaaa', true));
      const second = startChild(openingScript(path, 'bbbbbbbbbbbbbbbb', true));
      await Promise.all([first.ready, second.ready]);
      first.go();
      second.go();
      const results = await Promise.all([first.done, second.done]);
      for (const { output, code } of results) {
        assert.match(output, /opened 55/);
        assert.equal(code, 0);
      }
      assert.equal(backups().length, 2, 'one of them made one snapshot with its manifest');
      const db = migrated(path);
      assert.equal(
        one(db, 'SELECT count(*) AS n FROM operations')['n'],
        OLDER_MEMORIES.length + OLDER_LINKS + OLDER_STANDARDS + 1500,
      );
      assert.equal(one(db, 'SELECT count(*) AS n FROM db_epochs')['n'], 1);
    });
  }
});
