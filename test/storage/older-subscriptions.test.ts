import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { NOW_MS, workspace } from './older-workspace.js';

/** Two subscriptions, with an event and a dead letter that the older release did not deliver. */
const OLDER_ROWS = `INSERT INTO subscriptions (id, url, secret_hash, namespace_filter, created_at)
  VALUES ('a', 'https://example.test/a', 'ab', '', '2026-01-02 00:00:00');
INSERT INTO subscriptions (id, url, created_by, created_at, dispatch_count, event_types)
  VALUES ('b', 'https://example.test/b', 'ai:b', 'then', 7, '["memory_store","memory_delete"]');
INSERT INTO subscription_events VALUES
  ('e', 'a', 'c1', 'memory_store', '{}', '2026-01-02 00:00:00', 'pending');
INSERT INTO subscription_dlq VALUES
  (1, 'a', 'c2', 'memory_store', '{}', 4, 'network', '2026-01-02 00:00:00', '2026-01-02 00:00:06')`;

describe('subscriptions of an older schema', () => {
  const { olderFile, migrated } = workspace();

  function upgraded(fill: (db: Database.Database) => void) {
    const path = olderFile(54);
    const older = new Database(path);
    for (const table of ['subscription_events', 'subscription_dlq', 'subscriptions'])
      older.exec(`DELETE FROM ${table}`);
    fill(older);
    older.close();
    return migrated(path);
  }

  it('stay, without their events and dead letters', () => {
    const db = upgraded((older) => older.exec(OLDER_ROWS));
    const columns =
      'id, events, secret_hash, namespace_filter, created_by, created_at, dispatch_count, sees_all';
    assert.deepEqual(db.prepare(`SELECT ${columns} FROM subscriptions ORDER BY id`).raw().all(), [
      ['a', '*', 'ab', null, 'ai:migrate', '2026-01-02T00:00:00.000Z', 0, 0],
      ['b', 'memory_store,memory_delete', null, null, 'ai:b', new Date(NOW_MS).toISOString(), 7, 0],
    ]);
    for (const table of ['subscription_events', 'subscription_dlq'])
      assert.deepEqual(db.prepare(`SELECT * FROM ${table}`).all(), []);
  });

  it('hear the events that they name, in whatever form', () => {
    const named: Readonly<Record<string, readonly [events: string, types: string | null, moved: string]>> = {
      blanks: [' memory_store , memory_delete', null, 'memory_store,memory_delete'],
      empty: ['memory_store,,', null, 'memory_store'],
      star: ['memory_store, *', null, '*'],
      starInList: ['memory_store', '["memory_delete", " * "]', '*'],
      unknown: ['memory_stored', null, 'memory_stored'],
    };
    const db = upgraded((older) => {
      const add = older.prepare(
        "INSERT INTO subscriptions (id, url, events, event_types, created_at) VALUES (?, 'https://a.test/', ?, ?, '')",
      );
      for (const [id, [events, types]] of Object.entries(named)) add.run(id, events, types);
    });
    const moved = Object.fromEntries(db.prepare('SELECT id, events FROM subscriptions').raw().all() as []);
    assert.deepEqual(moved, Object.fromEntries(Object.entries(named).map(([id, [, , to]]) => [id, to])));
  });
});
