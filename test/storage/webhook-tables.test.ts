import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type Database from 'better-sqlite3';
import { systemCrypto } from '../../node/seams.js';
import type { DecisionContext } from '../../protocol/decide/deciding.js';
import { whoSees } from '../../protocol/webhooks/audience.js';
import { inspectDatabase } from '../../storage/sqlite/inspect/inspect-database.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { nextDeliveries, subscriptionEvents } from '../../storage/sqlite/queries/webhooks.js';
import { Statements } from '../../storage/sqlite/statements.js';
import { WebhookLedger } from '../../storage/sqlite/webhook-ledger.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { OPERATOR } from '../support/memories.js';

const NEW_TABLES = [
  'subscription_events',
  'subscription_dlq',
  'subscriptions',
  'subscription_changes',
  'announced_events',
];
const OLDER = `CREATE TABLE subscriptions (
  id TEXT PRIMARY KEY, url TEXT NOT NULL, events TEXT NOT NULL DEFAULT '*', secret_hash TEXT, namespace_filter TEXT,
  agent_filter TEXT, created_by TEXT, created_at TEXT NOT NULL, last_dispatched_at TEXT,
  dispatch_count INTEGER NOT NULL DEFAULT 0, failure_count INTEGER NOT NULL DEFAULT 0, event_types TEXT
);
CREATE TABLE subscription_events (
  id TEXT PRIMARY KEY, subscription_id TEXT NOT NULL REFERENCES subscriptions (id), correlation_id TEXT NOT NULL,
  event_type TEXT NOT NULL, payload TEXT NOT NULL, delivered_at TEXT NOT NULL, delivery_status TEXT NOT NULL
);
CREATE INDEX subscription_events_history ON subscription_events (subscription_id, delivered_at);
CREATE TABLE subscription_dlq (
  id INTEGER PRIMARY KEY, subscription_id TEXT NOT NULL, correlation_id TEXT NOT NULL, event_type TEXT NOT NULL,
  payload TEXT NOT NULL, retry_count INTEGER NOT NULL, last_error TEXT NOT NULL, first_failed_at TEXT NOT NULL,
  last_failed_at TEXT NOT NULL
)`;
/** What the older release had not delivered. */
const OLDER_ROWS = `INSERT INTO subscription_events VALUES
  ('e', 'a', 'c1', 'memory_store', '{}', '2026-01-02 00:00:00', 'pending');
INSERT INTO subscription_dlq VALUES
  (1, 'a', 'c2', 'memory_store', '{}', 4, 'network', '2026-01-02 00:00:00', '2026-01-02 00:00:06')`;

const open = (path: string) =>
  openDatabase({
    path,
    identity: { peerId: 'peer-webhooks' },
    nowMs: Date.parse('2026-07-01T00:00:00Z'),
    crypto: systemCrypto,
    freshEpoch: 'webhooks',
    busyTimeoutMs: 1000,
  });

const objectsOf = (db: Database.Database) =>
  db.prepare("SELECT name, sql FROM sqlite_schema WHERE tbl_name LIKE 'subscription%' ORDER BY name").all();

/** A database of this form as a release without webhooks left it, and the objects that a fresh one has. */
function withoutWebhooks(name: string, more: (db: Database.Database) => void) {
  const path = join(temporaryFolder('webhook-tables'), name);
  const fresh = open(path);
  const objects = objectsOf(fresh);
  for (const table of NEW_TABLES) fresh.exec(`DROP TABLE ${table}`);
  more(fresh);
  fresh.close();
  return { path, objects };
}

describe('a database of a release without webhooks', () => {
  it('gets the tables when it is opened for writing', () => {
    const { path, objects } = withoutWebhooks('plain.db', () => undefined);
    const db = open(path);
    assert.deepEqual(objectsOf(db), objects);
    assert.equal(db.prepare('SELECT revision FROM subscription_changes').pluck().get(), 0);
    db.close();
  });

  it('keeps the subscriptions that came with an older schema, without their events and dead letters', () => {
    const { path, objects } = withoutWebhooks('older.db', (db) => {
      db.exec(OLDER);
      db.exec(`INSERT INTO subscriptions (id, url, secret_hash, namespace_filter, created_at)
        VALUES ('a', 'https://example.test/a', 'ab', '', '2026-01-02 00:00:00')`);
      db.exec(`INSERT INTO subscriptions (id, url, created_by, created_at, dispatch_count, event_types)
        VALUES ('b', 'https://example.test/b', 'ai:b', 'then', 7, '["memory_store","memory_delete"]')`);
      db.exec(OLDER_ROWS);
    });
    const db = open(path);
    assert.deepEqual(objectsOf(db), objects);
    const columns =
      'id, events, secret_hash, namespace_filter, created_by, created_at, dispatch_count, sees_all';
    assert.deepEqual(db.prepare(`SELECT ${columns} FROM subscriptions ORDER BY id`).raw().all(), [
      ['a', '*', 'ab', null, 'ai:migrate', '2026-01-02T00:00:00.000Z', 0, 0],
      ['b', 'memory_store,memory_delete', null, null, 'ai:b', '2026-07-01T00:00:00.000Z', 7, 0],
    ]);
    for (const table of ['subscription_events', 'subscription_dlq'])
      assert.deepEqual(db.prepare(`SELECT * FROM ${table}`).all(), []);
    assert.deepEqual(db.pragma('foreign_key_check'), []);
    db.close();
  });

  it('hears the events that older subscriptions name, in whatever form', () => {
    const named: Readonly<Record<string, readonly [events: string, types: string | null, moved: string]>> = {
      blanks: [' memory_store , memory_delete', null, 'memory_store,memory_delete'],
      empty: ['memory_store,,', null, 'memory_store'],
      star: ['memory_store, *', null, '*'],
      starInList: ['memory_store', '["memory_delete", " * "]', '*'],
      unknown: ['memory_stored', null, 'memory_stored'],
    };
    const { path } = withoutWebhooks('names.db', (db) => {
      db.exec(OLDER);
      const add = db.prepare(
        "INSERT INTO subscriptions (id, url, events, event_types, created_at) VALUES (?, 'https://a.test/', ?, ?, '')",
      );
      for (const [id, [events, types]] of Object.entries(named)) add.run(id, events, types);
    });
    const db = open(path);
    const moved = Object.fromEntries(db.prepare('SELECT id, events FROM subscriptions').raw().all() as []);
    assert.deepEqual(moved, Object.fromEntries(Object.entries(named).map(([id, [, , to]]) => [id, to])));
    db.close();
  });

  it('is inspected as it is, also with the tables of an older schema', () => {
    const { path } = withoutWebhooks('inspected.db', (db) => db.exec(OLDER));
    const found = inspectDatabase(path, '2026-07-01T00:00:00.000Z', systemCrypto, null);
    assert.ok(found.ok, JSON.stringify(found));
    assert.equal(found.facts.content!.webhooks, null);
  });
});

/** The outbox of a release that had a row for each event and subscription, with one event that waits and one that failed. */
const OUTBOX_OF_EACH = `DROP TABLE announced_events;
DROP TABLE subscription_events;
ALTER TABLE subscriptions DROP COLUMN passed_seq;
ALTER TABLE subscriptions DROP COLUMN since_seq;
CREATE TABLE subscription_events (
  seq INTEGER PRIMARY KEY, subscription_id TEXT NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
  correlation_id TEXT NOT NULL, event_type TEXT NOT NULL, payload TEXT NOT NULL, delivered_at TEXT NOT NULL,
  delivery_status TEXT NOT NULL CHECK (delivery_status IN ('pending', 'ack', 'failed')),
  attempts INTEGER NOT NULL DEFAULT 0, next_attempt_ms INTEGER NOT NULL DEFAULT 0, last_error TEXT,
  first_failed_at TEXT, replays INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX subscription_events_history ON subscription_events (subscription_id, seq);
CREATE INDEX subscription_events_pending ON subscription_events (subscription_id, seq)
  WHERE delivery_status = 'pending';
INSERT INTO subscriptions VALUES ('a', 'https://a.test/', '*', NULL, NULL, NULL, 'ai:a', 0, '2026-01-02T00:00:00.000Z',
  NULL, 0, 1, 0, 'active', 1, 0, 0, 1);
INSERT INTO subscription_events VALUES
  (6, 'a', 'c1', 'memory_store', '{"n":1}', '2026-01-02T00:00:00.000Z', 'failed', 4, 0, 'network', NULL, 0),
  (7, 'a', 'c2', 'memory_store', '{"n":2}', '2026-01-02T00:00:01.000Z', 'pending', 1, 5, 'network', NULL, 0)`;

describe('a database with an outbox for each subscription', () => {
  it('keeps what waits and its history, and later events lie behind them', () => {
    const path = join(temporaryFolder('webhook-tables'), 'outboxes.db');
    const fresh = open(path);
    const tables = objectsOf(fresh).map((row) => (row as { name: string }).name);
    fresh.exec(OUTBOX_OF_EACH);
    fresh.close();
    const before = inspectDatabase(path, '2026-07-01T00:00:00.000Z', systemCrypto, null);
    assert.ok(before.ok && before.facts.content!.webhooks!.pending === 1);
    const db = open(path);
    assert.deepEqual(
      objectsOf(db).map((row) => (row as { name: string }).name),
      tables,
    );
    const parts = { statements: new Statements(db) } as never;
    const next = () =>
      nextDeliveries(parts, {
        ...{ kind: 'next-deliveries', subscriptionId: 'a', nowMs: 1_000_000, limit: 9 },
      }).deliveries.map(({ seq, correlationId }) => [seq, correlationId]);
    assert.deepEqual(next(), [[7, 'c2']]);
    const event = {
      event: 'memory_store',
      memory_id: 'm',
      namespace: 'n',
      agent_id: null,
      details: {},
    } as const;
    const context = { now: '2026-07-01T00:00:00.000Z', nowMs: 0 } as DecisionContext;
    new WebhookLedger(db).announce({ event, audience: whoSees() }, context);
    assert.deepEqual(
      next().map(([seq]) => seq),
      [7, 8],
    );
    const asked = { subscriptionId: 'a', since: '2026-01-01', limit: 9, viewer: OPERATOR } as const;
    const { events } = subscriptionEvents(parts, { kind: 'subscription-events', ...asked });
    assert.deepEqual(
      events.map(({ seq, delivery_status, payload }) => [seq, delivery_status, payload.slice(0, 6)]),
      [
        [6, 'failed', '{"n":1'],
        [7, 'pending', '{"n":2'],
        [8, 'pending', '{"even'],
      ],
    );
    assert.deepEqual(db.pragma('foreign_key_check'), []);
    db.close();
  });
});
