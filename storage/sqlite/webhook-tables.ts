/** Subscriptions, the events, how far each subscription has come, and the dead letters. */
export const SUBSCRIPTION_TABLES = `-- Webhooks; local.
CREATE TABLE subscriptions (
  id TEXT PRIMARY KEY,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  secret_hash TEXT,
  namespace_filter TEXT,
  agent_filter TEXT,
  created_by TEXT NOT NULL,
  sees_all INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  last_dispatched_at TEXT,
  dispatch_count INTEGER NOT NULL,
  failure_count INTEGER NOT NULL,
  failures_in_row INTEGER NOT NULL,
  status TEXT NOT NULL,
  pending_count INTEGER NOT NULL,
  dlq_count INTEGER NOT NULL,
  dropped_count INTEGER NOT NULL,
  ended_count INTEGER NOT NULL,
  passed_seq INTEGER NOT NULL DEFAULT 0,
  since_seq INTEGER NOT NULL DEFAULT 0
);

-- Each event once, for all subscriptions, in the transaction of the change that it tells of. No place comes twice.
CREATE TABLE announced_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  event TEXT NOT NULL,
  audience TEXT NOT NULL,
  at TEXT NOT NULL,
  at_ms INTEGER NOT NULL
);

-- The events that need a row for one subscription: those whose delivery failed once or more often.
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
  first_failed_at TEXT,
  replays INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX subscription_events_history ON subscription_events (subscription_id, seq);
CREATE INDEX subscription_events_pending ON subscription_events (subscription_id, seq)
  WHERE delivery_status = 'pending';
CREATE INDEX subscription_events_ended ON subscription_events (subscription_id, delivered_at)
  WHERE delivery_status <> 'pending';

CREATE TABLE subscription_dlq (
  id INTEGER PRIMARY KEY,
  subscription_id TEXT NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
  correlation_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  payload TEXT NOT NULL,
  retry_count INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  first_failed_at TEXT NOT NULL,
  last_failed_at TEXT NOT NULL
);
CREATE INDEX subscription_dlq_subscription ON subscription_dlq (subscription_id, id);
CREATE INDEX subscription_dlq_correlation ON subscription_dlq (correlation_id);

-- Counts the changes of the list of subscriptions, for processes that keep it in memory.
CREATE TABLE subscription_changes (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  revision INTEGER NOT NULL
);
INSERT INTO subscription_changes VALUES (1, 0);`;
