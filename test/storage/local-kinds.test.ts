import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import { localKind } from '../../protocol/kinds/local-kind.js';
import { outboxKind } from '../../protocol/webhooks/outbox.js';
import { type Subscription, subscriptionKind } from '../../protocol/webhooks/subscription.js';
import { FindRows, localSource } from '../../storage/sql/kinds/find-rows.js';
import { LocalTables } from '../../storage/sql/kinds/local-tables.js';
import { Statements } from '../../storage/sql/statements.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { OPERATOR, tenant } from '../support/memories.js';

const opened = (path: string) =>
  openDatabase({
    ...{ path, identity: { peerId: 'peer-a' }, nowMs: 0, crypto: systemCrypto },
    ...{ freshEpoch: '0123456789abcdef', busyTimeoutMs: 100 },
  });

const aSubscription = (id: string, fields: Partial<Subscription> = {}): Subscription => ({
  ...{ id, url: 'https://example.org/', events: '*', secret_hash: null, namespace_filter: null },
  ...{ agent_filter: null, created_by: 'ai:a', sees_all: false, created_at: '2026-01-01T00:00:00.000Z' },
  ...{ last_dispatched_at: null, dispatch_count: 0, failure_count: 0, failures_in_row: 0, status: 'active' },
  ...{ pending_count: 0, dlq_count: 0, dropped_count: 0, ended_count: 0, passed_seq: 0, since_seq: 0 },
  ...fields,
});

const SOURCE = localSource(subscriptionKind);

/** The tables as the release before local kinds made them. */
const OLDER = `
DROP TABLE subscription_events;
CREATE TABLE subscription_events (
  seq INTEGER NOT NULL,
  subscription_id TEXT NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
  correlation_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  payload TEXT NOT NULL,
  delivered_at TEXT NOT NULL,
  delivery_status TEXT NOT NULL CHECK (delivery_status IN ('pending', 'ack', 'failed')),
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_ms INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  first_failed_at TEXT
);
CREATE UNIQUE INDEX subscription_events_history ON subscription_events (subscription_id, seq);
CREATE INDEX subscription_events_pending ON subscription_events (subscription_id, seq)
  WHERE delivery_status = 'pending';`;

describe('the tables of local kinds', () => {
  it('follow the declarations of this release, and keep their rows', () => {
    const path = join(temporaryFolder('local-kinds'), 'mnemesh.db');
    const older = opened(path);
    new LocalTables(older).put(subscriptionKind.name, aSubscription('one'));
    // A member that the next release adds may be null there.
    older.exec(
      OLDER.replace(
        'first_failed_at TEXT\n',
        'first_failed_at TEXT,\n  replays INTEGER NOT NULL DEFAULT 0\n',
      ),
    );
    older
      .prepare(
        `INSERT INTO subscription_events (seq, subscription_id, correlation_id, event_type, payload, delivered_at,
           delivery_status) VALUES (7, 'one', 'c', 'memory_store', '{}', '2026-01-01', 'failed')`,
      )
      .run();
    older.close();
    const db = opened(path);
    const find = new FindRows(new Statements(db));
    const outbox = localSource(outboxKind);
    assert.equal(find.one(outbox, ['one', 7])?.delivery_status, 'failed');
    new LocalTables(db).put(outboxKind.name, { ...find.one(outbox, ['one', 7])!, delivery_status: 'ack' });
    assert.deepEqual([find.count(outbox), find.one(outbox, ['one', 7])?.delivery_status], [1, 'ack']);
    const indexes = db
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'subscription_events' ORDER BY 1",
      )
      .pluck()
      .all();
    assert.deepEqual(indexes, [
      'subscription_events_by_key',
      'subscription_events_by_subscription_id_delivery_status_delivered_at',
      'subscription_events_by_subscription_id_delivery_status_seq',
    ]);
    assert.equal(find.one(SOURCE, ['one'])?.sees_all, false);
    db.close();
  });
});

describe('a find', () => {
  const db = opened(':memory:');
  const tables = new LocalTables(db);
  const find = new FindRows(new Statements(db));
  for (let n = 1; n <= 6; n += 1) {
    const created_at = `2026-01-0${(n % 3) + 1}T00:00:00.000Z`;
    const owner = n % 2 === 0 ? 'ai:a' : 'ai:b';
    const fields = { created_at, created_by: owner as never, passed_seq: n, sees_all: n === 6 };
    tables.put(subscriptionKind.name, aSubscription(`s${n}`, fields));
  }
  const ids = (rows: readonly Subscription[]) => rows.map(({ id }) => id);
  const order = { by: 'created_at', descending: true };

  it('answers rows in the order of a member and then of the key, page by page', () => {
    const whole = ids(find.all(SOURCE, { order, limit: 10 }));
    assert.deepEqual(whole, ['s2', 's5', 's1', 's4', 's3', 's6']);
    const paged: string[] = [];
    let after: readonly (string | number | null)[] | undefined;
    do {
      const page = find.all(SOURCE, { order, limit: 2, ...(after === undefined ? {} : { after }) });
      paged.push(...ids(page));
      const last = page.at(-1);
      after = last === undefined ? undefined : [last.created_at, last.id];
    } while (after !== undefined);
    assert.deepEqual(paged, whole);
  });

  it('takes parts of the order, and values that are in a list or not', () => {
    const where = { status: 'active', passed_seq: { after: 2, to: 5 }, id: { notIn: ['s4'] } };
    assert.deepEqual(ids(find.all(SOURCE, { where, order: { by: 'passed_seq' }, limit: 10 })), ['s3', 's5']);
    assert.equal(find.count(SOURCE, { id: { in: ['s1', 's9'] } }), 1);
  });

  it('shows a viewer what the kind shows', () => {
    const shown = (viewer: typeof OPERATOR) => ids(find.all(SOURCE, { limit: 2 }, { viewer, now: '' }));
    assert.deepEqual([shown(tenant('ai:a')), shown(tenant('ai:c'))], [['s2', 's4'], []]);
    assert.deepEqual(shown(OPERATOR), ['s1', 's2']);
    const hidden = localSource(
      localKind<{ id: string }>({ name: 'hidden', key: ['id'], members: { id: 'text' } }),
    );
    assert.deepEqual([hidden.isVisible({ id: 'x' }, tenant('ai:a'), () => true)], [false], 'fails closed');
  });

  it('is refused where no index of the kind leads to what it asks', () => {
    assert.throws(
      () => find.all(SOURCE, { order: { by: 'dlq_count' }, limit: 1 }),
      /has no index for dlq_count/,
    );
    assert.throws(() => find.all(SOURCE, { where: { url: 'x' }, limit: 1 }), /has no index for url/);
  });
});
