import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, it } from 'node:test';
import { chargedBytes, holderOf } from '../../protocol/identity/quota.js';
import { CHAIN_GENESIS, headerHash } from '../../protocol/log/operation-log.js';
import { memoryPayload } from '../../protocol/memory/memory-kind.js';
import { type Standard, standardKind } from '../../protocol/memory/standard-kind.js';
import { repairOf } from '../../protocol/replication/repair-subjects.js';
import { engineOf } from '../../storage/sql/engine.js';
import { memoryFromSql, ROW_COLUMNS, SELECT_ROW, type SqlRow } from '../../storage/sql/rows.js';
import { schemaVersion } from '../../storage/sqlite/file-schema.js';
import { MIGRATION_STEPS, migrate } from '../../storage/sqlite/migrations/migrate.js';
import { olderInstant } from '../../storage/sqlite/migrations/older-values.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { auditDatabase } from '../support/log-audit.js';
import {
  makeOlderDatabase,
  nodeCrypto,
  OLDER_LINKS,
  OLDER_STANDARDS,
  OLDER_VERSIONS,
  openOptions,
  SURVIVING_TABLES,
} from './older-databases.js';
import { OLDER_MEMORIES, type Row, uuid } from './older-memories.js';
import { all, dump, NOW_MS, one, workspace } from './older-workspace.js';

const NOW = new Date(NOW_MS).toISOString();
const STAMPS = new Set(['created_hlc', 'edited', 'hlc', 'origin', 'origin_seq', 'seen', 'write_signature']);
/** What an older database says of the standard of a namespace. */
/** Older recalls were not asked what they were asked for. */
const UNTRACED = {
  ...{ query: null, namespace: null, words_only: null, answered: null, weak: null, below: null },
  ...{ took_ms: null, used: null, uses: null },
};

const OLDER_STANDARD: Omit<Standard, 'governance' | 'operator_set'> = {
  namespace: 'team',
  standard_id: uuid(1),
  parent_namespace: null,
  set_by: null,
  updated_at: '2026-01-02T00:00:00.000Z',
  rest: {},
};
const { tracked, closeAll, olderFile, migrated, backups } = workspace();

function headerOf(operation: Row) {
  return {
    origin: operation['origin'] as string,
    seq: operation['origin_seq'] as number,
    hlc: operation['hlc'] as string,
    kind: operation['kind'] as string,
    namespace: operation['namespace'] as string,
    subject: operation['subject'] as string,
    seen: JSON.parse(operation['seen'] as string),
    payloadHash: operation['payload_hash'] as string,
    prevHash: operation['prev_hash'] as string,
  };
}

interface SchemaObject {
  type: string;
  name: string;
  tbl_name: string;
  sql: string | null;
}

function schemaOf(db: SqliteConnection): SchemaObject[] {
  return db
    .prepare<[], SchemaObject>('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name')
    .all()
    .map((object) => ({ ...object, sql: object.sql?.replace(/\s+/g, ' ') ?? null }));
}

for (const version of OLDER_VERSIONS) {
  describe(`a database of version ${version}`, () => {
    it('keeps every row and every field of its memories', () => {
      const db = migrated(olderFile(version));
      assert.equal(schemaVersion(db), 55);
      const rows = all(db, `SELECT ${ROW_COLUMNS.join(', ')}, embed_state FROM memories ORDER BY rid`);
      assert.equal(rows.length, OLDER_MEMORIES.length);
      for (const [index, { row, becomes }] of OLDER_MEMORIES.entries()) {
        for (const column of ROW_COLUMNS) {
          if (STAMPS.has(column) || (column === 'id' && row['id'] === null)) continue;
          const older = column === 'rest' ? '{}' : row[column];
          const expected = column in becomes ? becomes[column] : older;
          assert.deepEqual(rows[index]![column], expected, `${column} of ${String(row['title'])}`);
        }
        assert.equal(rows[index]!['embed_state'], 0);
        assert.equal(rows[index]!['write_signature'], null);
      }
      const named = rows.find((row) => row['title'] === 'without an id')!;
      assert.match(named['id'] as string, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    });

    it('keeps its archive, links, quotas and the rest', () => {
      const db = migrated(olderFile(version));
      const archived = all(db, 'SELECT * FROM archived_memories ORDER BY id');
      assert.equal(archived.length, version >= 50 ? 3 : 2);
      const [expired, forgotten, full] = archived as [Row, Row, Row];
      assert.equal(expired['created_at'], '2025-01-01T00:00:00.000Z');
      assert.equal(expired['updated_at'], '2025-01-02T00:00:00.500Z');
      assert.equal(expired['archived_at'], '2025-01-09T00:00:00.123Z');
      assert.equal(expired['original_tier'], 'mid');
      assert.equal(expired['original_expires_at'], '2025-01-08T00:00:00.000Z');
      assert.equal(expired['tags'], '["dust"]');
      assert.equal(expired['priority'], 3);
      assert.equal(expired['metadata'], '{"agent_id":"alice"}');
      assert.equal(forgotten['content'], 'Same title, also archived.');
      assert.equal(forgotten['original_expires_at'], null);
      assert.equal(forgotten['archive_reason'], 'forget');
      if (version >= 50) {
        assert.equal(full['version'], 4);
        assert.equal(full['source_uri'], 'doc:1');
        assert.equal(full['original_tier'], 'mid');
        assert.equal(full['original_expires_at'], '2026-01-21T00:00:00.000Z');
      }

      const links = all(db, 'SELECT * FROM memory_links ORDER BY relation');
      assert.deepEqual(
        links.map((link) => [link['relation'], link['target_id'], link['attest_level']]),
        [
          ['derived_from', uuid(999), 'unsigned'],
          ['related_to', uuid(2), 'unsigned'],
          ['supersedes', uuid(2), 'self_signed'],
        ],
      );
      assert.equal(links[1]!['valid_from'], '2026-01-02T03:04:05.000Z');
      assert.equal(links[1]!['created_at'], '2026-01-02T03:04:05.000Z');
      // Signed texts stay as they were signed.
      assert.equal(links[2]!['valid_from'], '2026-01-02T03:04:05+00:00');
      assert.equal(links[2]!['valid_until'], '2026-02-02T03:04:05+00:00');
      assert.deepEqual(links[2]!['signature'], Buffer.alloc(64, 7));

      const quotas = all(
        db,
        "SELECT * FROM agent_quotas WHERE namespace IN ('_global', 'team') ORDER BY namespace",
      );
      assert.equal(quotas.length, version >= 52 ? 2 : 1);
      assert.deepEqual(quotas[0], {
        agent_id: 'alice',
        namespace: '_global',
        max_memories_per_day: 1000,
        max_storage_bytes: 104_857_600,
        max_links_per_day: 5000,
        current_memories_today: 41,
        // Bytes are counted anew, for the namespace that holds them.
        current_storage_bytes: 0,
        current_links_today: 3,
        day_started_at: '2026-01-02T00:00:00.000Z',
        created_at: '2025-12-01T00:00:00.000Z',
        updated_at: '2026-01-02T01:00:00.000Z',
        current_written_bytes_today: 0,
      });
      const standards = all(db, "SELECT id, namespace, payload FROM records WHERE kind = 'standard'");
      const { rest: _rest, ...standard } = OLDER_STANDARD;
      assert.deepEqual(standards, [
        {
          id: 'team',
          namespace: 'team',
          payload: standardKind.payload.text({ ...OLDER_STANDARD, governance: null, operator_set: null }),
        },
      ]);
      assert.deepEqual(JSON.parse(standards[0]!['payload'] as string), standard);
      assert.throws(() => all(db, 'SELECT * FROM namespace_meta'), /no such table/);
      const held = new Map<string, number>();
      for (const row of all(db, `SELECT ${SELECT_ROW} FROM memories m`)) {
        const memory = memoryFromSql(row as SqlRow);
        const key = `${holderOf(memory)} ${memory.namespace}`;
        if (holderOf(memory) !== null) held.set(key, (held.get(key) ?? 0) + chargedBytes(memory));
      }
      const counted = all(db, 'SELECT * FROM agent_quotas WHERE current_storage_bytes > 0').map((row) => [
        `${row['agent_id']} ${row['namespace']}`,
        row['current_storage_bytes'],
      ]);
      assert.deepEqual(new Map(counted as [string, number][]), held);
      // The audit chain goes on, and its older rows keep the form in which they were hashed.
      const [event] = all(db, 'SELECT * FROM signed_events');
      assert.deepEqual([event!['sequence'], event!['event_type'], event!['form']], [1, 'memory.stored', 1]);
      // A row for each recall, the oldest first; the older table does not say who asked.
      assert.deepEqual(all(db, 'SELECT * FROM recall_observations ORDER BY seq'), [
        {
          seq: 1,
          recall_id: 'earlier',
          agent_id: '',
          retriever: 'hybrid',
          observed_at: '2026-01-02T03:04:05.000Z',
          memories: JSON.stringify([1, 2, 3].map((n) => [uuid(n), [0.875, 0.5, 0.125][n - 1]])),
          consumed_at: '2026-01-02T03:05:00.000Z',
          consumed_by_memory_id: uuid(3),
          ...UNTRACED,
        },
        {
          seq: 2,
          recall_id: 'later',
          agent_id: '',
          retriever: 'hybrid',
          observed_at: '2026-01-03T00:00:00.000Z',
          memories: JSON.stringify([[uuid(1), 0.25]]),
          consumed_at: null,
          consumed_by_memory_id: null,
          ...UNTRACED,
        },
      ]);
      const replay = version >= 51 ? 1 : 0;
      assert.equal(all(db, 'SELECT * FROM federation_nonce_cache').length, replay);
      assert.equal(all(db, 'SELECT * FROM transcript_line_dedup').length, replay);
      const versions = all(db, 'SELECT version FROM schema_version ORDER BY version').map(
        (row) => row['version'],
      );
      assert.deepEqual(versions, [48, 49, 50, 51, 52, 53, 54, 55]);
    });

    it('keeps the subscription, without the events and dead letters of the older release', () => {
      const db = migrated(olderFile(version));
      assert.deepEqual(all(db, 'SELECT id, pending_count, dlq_count, ended_count FROM subscriptions'), [
        { id: uuid(701), pending_count: 0, dlq_count: 0, ended_count: 0 },
      ]);
      assert.deepEqual(all(db, 'SELECT * FROM subscription_events'), []);
      assert.deepEqual(all(db, 'SELECT * FROM subscription_dlq'), []);
    });

    it('leaves tables that 55 does not name untouched', () => {
      const path = olderFile(version);
      const read = (db: SqliteConnection) =>
        SURVIVING_TABLES.map((table) => [table, all(db, `SELECT * FROM ${table} ORDER BY 1, 2`)]);
      const older = openSqlite(path);
      const before = read(older);
      older.close();
      assert.deepEqual(read(migrated(path)), before);
    });

    it('finds its memories by full text, also inside a namespace', () => {
      const db = migrated(olderFile(version));
      const find = (query: string): unknown[] =>
        all(
          db,
          'SELECT m.title FROM memories_fts f JOIN memories m ON m.rid = f.rowid WHERE memories_fts MATCH ? ORDER BY m.rid',
          query,
        ).map((row) => row['title']);
      assert.deepEqual(find('lighthouse'), ['Every field']);
      assert.deepEqual(find('content: zeppelin'), ['memory 3']);
      assert.deepEqual(find('kun'), [OLDER_MEMORIES[1]!.row['title']]);
      assert.deepEqual(find('tags: green'), ['memory 8']);
      const { ns_id } = one(db, "SELECT ns_id FROM namespaces WHERE name = 'team/other'");
      assert.deepEqual(find(`nst: n${ns_id} AND title: every`), ['Every field']);
      assert.equal(find('title: every').length, 3);
      db.prepare('DELETE FROM memories WHERE title = ?').run('memory 3');
      assert.deepEqual(find('zeppelin'), []);
    });

    it('has rows that the log means, also in a namespace that none may have any more', () => {
      const db = migrated(olderFile(version));
      assert.deepEqual(auditDatabase(db), []);
      const odd = one(db, "SELECT id FROM memories WHERE namespace = 'with blanks in it'")['id'] as string;
      const before = one(db, 'SELECT content, priority, seen, hex(digest) FROM memories WHERE id = ?', odd);
      db.prepare('UPDATE memories SET priority = 9 WHERE id = ?').run(odd);
      const { run, digests, quotas, log } = engineOf(db, openOptions(':memory:', NOW_MS));
      log.begin();
      run(repairOf({ subjects: [{ kind: 'memory', id: odd }] }));
      quotas.flush();
      digests.flush();
      log.finish();
      const after = one(db, 'SELECT content, priority, seen, hex(digest) FROM memories WHERE id = ?', odd);
      assert.deepEqual([after, auditDatabase(db)], [before, []]);
    });

    it('gets one store operation for each memory, in an unbroken chain that matches the rows', () => {
      const db = migrated(olderFile(version));
      const operations = all(db, 'SELECT * FROM operations ORDER BY commit_sequence');
      assert.equal(operations.length, OLDER_MEMORIES.length + OLDER_LINKS + OLDER_STANDARDS);
      const rows = all(db, `SELECT ${SELECT_ROW} FROM memories m ORDER BY m.rid`);
      let previous = CHAIN_GENESIS;
      let lastHlc = '';
      for (const [index, operation] of operations.entries()) {
        assert.equal(operation['commit_sequence'], index + 1);
        assert.equal(operation['origin_seq'], index + 1);
        assert.equal(operation['origin'], 'peer-a/00112233445566ff');
        if (index >= OLDER_MEMORIES.length) {
          const isLink = index < OLDER_MEMORIES.length + OLDER_LINKS;
          assert.equal(operation['kind'], isLink ? 'link' : 'standard.put');
          previous = headerHash(headerOf(operation), nodeCrypto);
          lastHlc = operation['hlc'] as string;
          continue;
        }
        const memory = memoryFromSql(rows[index] as SqlRow);
        assert.equal(operation['kind'], 'store');
        assert.equal(operation['subject'], memory.id);
        assert.equal(operation['namespace'], memory.namespace);
        assert.equal(operation['rid'], memory.rid);
        assert.equal(operation['payload'], memoryPayload(memory));
        assert.equal(operation['payload_hash'], nodeCrypto.sha256Hex(operation['payload'] as string));
        assert.equal(operation['prev_hash'], previous);
        assert.equal(operation['hlc'], memory.hlc);
        assert.equal(memory.created_hlc, memory.hlc);
        assert.equal(memory.origin, operation['origin']);
        assert.equal(memory.origin_seq, operation['origin_seq']);
        assert.deepEqual(memory.seen, { [memory.origin]: memory.origin_seq });
        assert.ok(memory.hlc > lastHlc);
        lastHlc = memory.hlc;
        previous = headerHash(headerOf(operation), nodeCrypto);
      }
      assert.deepEqual(one(db, 'SELECT * FROM log_state'), {
        singleton: 1,
        peer_id: 'peer-a',
        db_epoch: '00112233445566ff',
        commit_sequence: operations.length,
        origin_seq: operations.length,
        chain_head: previous,
        hlc: lastHlc,
      });
      assert.deepEqual(all(db, 'SELECT * FROM db_epochs'), [
        {
          db_epoch: '00112233445566ff',
          peer_id: 'peer-a',
          first_commit_sequence: 1,
          started_at: NOW,
          reason: `migrated from schema ${version}`,
        },
      ]);
    });

    it('has the schema of a fresh database, no broken reference and a sound file', () => {
      const db = migrated(olderFile(version));
      const fresh = tracked(openDatabase(openOptions(':memory:', NOW_MS)));
      const named = new Set(schemaOf(fresh).map((object) => object.tbl_name));
      const own = schemaOf(db).filter((object) => named.has(object.tbl_name));
      assert.deepEqual(own, schemaOf(fresh));
      const others = new Set(
        schemaOf(db)
          .filter((object) => !named.has(object.tbl_name))
          .map((o) => o.tbl_name),
      );
      assert.deepEqual(
        [...others].sort(),
        SURVIVING_TABLES.filter((table) => !named.has(table)),
      );
      const broken = all(db, 'SELECT "table" AS name, parent FROM pragma_foreign_key_check');
      // The fixture's own: an alias of an entity that was already missing.
      assert.deepEqual(broken, [{ name: 'entity_aliases', parent: 'memories' }]);
      assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
      assert.equal(db.pragma('foreign_keys', { simple: true }), 1);
      assert.equal(db.pragma('legacy_alter_table', { simple: true }), 0);
      db.exec("INSERT INTO memories_fts (memories_fts) VALUES ('integrity-check')");
      // References of surviving tables point at the new table.
      db.prepare('DELETE FROM memories WHERE id = ?').run(uuid(1));
      assert.equal(one(db, 'SELECT count(*) AS n FROM entity_aliases')['n'], 1);
    });

    it('leaves a verified snapshot of the old version beside it', () => {
      const path = olderFile(version);
      const before = dump(path);
      migrated(path);
      const stem = `${path}.pre-migration-v${version}-to-v55-00112233445566ff`;
      assert.deepEqual(backups().sort(), [`${basename(stem)}.bak`, `${basename(stem)}.manifest.json`]);
      assert.deepEqual(dump(`${stem}.bak`), before);
      assert.equal(statSync(`${stem}.bak`).mode & 0o777, 0o600);
      assert.equal(statSync(`${stem}.manifest.json`).mode & 0o777, 0o600);
      const bytes = readFileSync(`${stem}.bak`);
      assert.deepEqual(JSON.parse(readFileSync(`${stem}.manifest.json`, 'utf8')), {
        snapshot: `${basename(stem)}.bak`,
        sha256: createHash('sha256').update(bytes).digest('hex'),
        bytes: bytes.length,
        source_db: 'm.db',
        version: 1,
        created_at: NOW,
        backend: 'sqlite',
        schema_version: version,
      });
      // Rollback is: put the snapshot back, and it can be upgraded again.
      rmSync(path);
      writeFileSync(path, bytes);
      closeAll();
      for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
      assert.deepEqual(dump(path), before);
      const again = migrated(path, 'aaaaaaaaaaaaaaaa');
      assert.equal(schemaVersion(again), 55);
    });
  });
}

describe('single steps', () => {
  function stepped(version: number): SqliteConnection {
    return tracked(makeOlderDatabase(':memory:', version));
  }

  it('each raises the version by one, from 49 to 55', () => {
    assert.deepEqual(
      MIGRATION_STEPS.map((step) => step.to),
      [50, 51, 52, 53, 54, 55],
    );
  });

  it('50 gives older archived rows their own tier and expiry as the original ones', () => {
    const row = one(stepped(50), 'SELECT * FROM archived_memories WHERE id = ?', uuid(901));
    assert.equal(row['original_tier'], 'mid');
    assert.equal(row['original_expires_at'], '2025-01-08T00:00:00+00:00');
    assert.equal(row['embedding'], null);
    assert.ok('mentioned_entity_id' in row);
  });

  it('51 makes the tables against replays', () => {
    assert.throws(() => all(stepped(50), 'SELECT * FROM federation_nonce_cache'), /no such table/);
    assert.equal(all(stepped(51), 'SELECT * FROM federation_nonce_cache').length, 1);
  });

  it('52 gives older quotas to _global and lets an agent have one for each namespace', () => {
    const db = stepped(52);
    const namespaces = all(db, 'SELECT namespace, current_memories_today AS n FROM agent_quotas ORDER BY 1');
    assert.deepEqual(namespaces, [
      { namespace: '_global', n: 41 },
      { namespace: 'team', n: 0 },
    ]);
  });

  it('53 no longer writes the full-text index when a row is only touched', () => {
    const touched = (version: number): boolean => {
      const db = stepped(version);
      const index = () => JSON.stringify(all(db, 'SELECT id, hex(block) AS block FROM memories_fts_data'));
      const before = index();
      db.prepare('UPDATE memories SET access_count = 99 WHERE id = ?').run(uuid(1));
      const changed = index() !== before;
      db.prepare("UPDATE memories SET content = 'a walrus' WHERE id = ?").run(uuid(1));
      assert.equal(all(db, "SELECT rowid FROM memories_fts WHERE memories_fts MATCH 'walrus'").length, 1);
      assert.equal(all(db, "SELECT rowid FROM memories_fts WHERE memories_fts MATCH 'lighthouse'").length, 0);
      return changed;
    };
    assert.equal(touched(52), true);
    assert.equal(touched(53), false);
  });

  it('54 gives mid rows 90 days and short rows 6 hours, and leaves long rows and set expiries alone', () => {
    const before = stepped(53);
    const after = stepped(54);
    const expiry = (db: SqliteConnection, n: number) =>
      one(db, 'SELECT expires_at FROM memories WHERE id = ?', uuid(n))['expires_at'];
    assert.equal(expiry(before, 4), null);
    assert.equal(expiry(after, 4), '2026-04-02T03:04:05.678Z');
    assert.equal(expiry(after, 5), '2026-01-02T09:04:05.000Z');
    assert.equal(expiry(after, 12), '2026-04-02T03:04:05.678Z');
    assert.equal(expiry(after, 1), null);
    assert.equal(expiry(after, 6), '2027-06-01T00:00:00.123456789+02:00');
  });

  it('55 upgrades a database in memory, without a snapshot', () => {
    const db = stepped(49);
    migrate(db, openOptions(':memory:', NOW_MS));
    assert.equal(schemaVersion(db), 55);
    const logged = OLDER_MEMORIES.length + OLDER_LINKS + OLDER_STANDARDS;
    assert.equal(one(db, 'SELECT count(*) AS n FROM operations')['n'], logged);
  });
});

describe('older instants', () => {
  const cases: readonly (readonly [unknown, string | null])[] = [
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04:05.123456+00:00', '2026-01-02T03:04:05.123Z'],
    ['2026-01-02 03:04:05.5 UTC', '2026-01-02T03:04:05.500Z'],
    ['2026-01-02T03:04+0100', '2026-01-02T02:04:00.000Z'],
    ['2026-01-02t03:04:05z', '2026-01-02T03:04:05.000Z'],
    [1_767_323_045, '2026-01-02T03:04:05.000Z'],
    ['1767323045.678', '2026-01-02T03:04:05.678Z'],
    ['2026-02-30', null],
    ['tomorrow', null],
    ['', null],
    [null, null],
    [Buffer.from('2026-01-02'), '2026-01-02T00:00:00.000Z'],
  ];
  for (const [text, expected] of cases) {
    it(`reads ${JSON.stringify(text)} as ${expected}`, () => {
      assert.equal(olderInstant(text), expected);
    });
  }
});
