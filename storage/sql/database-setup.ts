import { HLC_ZERO } from '../../protocol/base/hlc.js';
import type { PeerId } from '../../protocol/base/meanings.js';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import { StartRefusedError } from '../../protocol/base/start-refused.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { CHAIN_GENESIS } from '../../protocol/log/operation-log.js';
import type { WriterIdentity } from '../port.js';
import type { Connection } from './connection.js';

/** Who writes a database from now on, and since when. */
export interface WriterStart {
  readonly identity: WriterIdentity;
  readonly nowMs: number;
  /** 16 random hex characters: the epoch if one begins now. */
  readonly freshEpoch: string;
}

/** The database cannot be used in its present state; the message says what to do. */
export class DatabaseRefusedError extends StartRefusedError {
  constructor(message: string, options?: ErrorOptions) {
    super('MIGRATION_REFUSED', message, options);
  }
}

/** Throws when the database, which is open, has got another schema than that of this release. */
export function requireOwnSchema(version: number): void {
  if (version === SCHEMA_VERSION) return;
  throw new DatabaseRefusedError(
    `another release changed the database to schema version ${version} while it was open, this release knows ` +
      `${SCHEMA_VERSION}: nothing was changed; restart this process with the release of the database`,
  );
}

/** Starts the operation log of a new or migrated database; inside the caller's transaction. */
export function startLog(db: Connection, options: WriterStart, reason: string): void {
  db.prepare(
    `INSERT INTO log_state (singleton, peer_id, db_epoch, commit_sequence, origin_seq, chain_head, hlc)
     VALUES (1, ?, ?, 0, 0, ?, ?)`,
  ).run(options.identity.peerId, options.freshEpoch, CHAIN_GENESIS, HLC_ZERO);
  const { identity, freshEpoch, nowMs } = options;
  recordEpoch(db, { peerId: identity.peerId, epoch: freshEpoch, nowMs, reason }, 0);
}

/** A new epoch. */
export interface FreshEpoch {
  readonly peerId: PeerId;
  readonly epoch: string;
  readonly nowMs: number;
  readonly reason: string;
}

/**
 * Continues under another origin; inside the caller's transaction. The old origin becomes like any other node's: if
 * peers have later operations of it, they send them. On another machine no event is sent until its owner wants it.
 */
export function switchEpoch(db: Connection, fresh: FreshEpoch): void {
  if (db.prepare('SELECT peer_id FROM log_state').pluck().get() !== fresh.peerId) quarantineAll(db);
  db.exec(
    `INSERT INTO origins (origin, seq, head, hlc)
     SELECT peer_id || '/' || db_epoch, origin_seq, chain_head, hlc FROM log_state WHERE origin_seq > 0
     ON CONFLICT (origin) DO UPDATE SET seq = excluded.seq, head = excluded.head, hlc = excluded.hlc, scope = NULL`,
  );
  db.prepare('UPDATE log_state SET peer_id = ?, db_epoch = ?, origin_seq = 0, chain_head = ?').run(
    fresh.peerId,
    fresh.epoch,
    CHAIN_GENESIS,
  );
  const { commit_sequence } = db.prepare('SELECT commit_sequence FROM log_state').get() as {
    commit_sequence: number;
  };
  recordEpoch(db, fresh, commit_sequence);
}

/** The machine before may still send the same events. */
function quarantineAll(db: Connection): void {
  db.exec("UPDATE subscriptions SET status = 'quarantined'");
}

/** How many subscriptions get nothing. */
export function quarantinedSubscriptions(db: Connection): number {
  const asked = "SELECT count(*) FROM subscriptions WHERE status = 'quarantined'";
  return db.prepare(asked).pluck().get() as number;
}

function recordEpoch(db: Connection, fresh: FreshEpoch, commitSequence: number): void {
  db.prepare(
    `INSERT INTO db_epochs (db_epoch, peer_id, first_commit_sequence, started_at, reason) VALUES (?, ?, ?, ?, ?)`,
  ).run(fresh.epoch, fresh.peerId, commitSequence + 1, instantFromMs(fresh.nowMs), fresh.reason);
}
