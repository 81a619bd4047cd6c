import Database from 'better-sqlite3';
import type { Crypto } from '../../protocol/base/seams.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';

/** A commit that fails as a disk does. */
export class SyncFailed extends Database.SqliteError {
  constructor() {
    super('disk I/O error', 'SQLITE_IOERR_FSYNC');
  }
}

/**
 * The disk of one node: SQLite in memory whose COMMIT waits for its sync. The writer's COMMIT only holds the
 * transaction; `sync` commits it, `lose` rolls it back as a crash before the sync does.
 */
export class SimDisk {
  private connection: SqliteConnection;
  private holding = false;
  private commitsBefore = 0;
  /** Set to let the next COMMIT fail. */
  failNextCommit = false;

  constructor(
    private readonly peerId: string,
    private readonly crypto: Crypto,
    freshEpoch: string,
    nowMs: number,
  ) {
    this.connection = this.intercept(
      openDatabase({
        path: ':memory:',
        identity: { peerId },
        nowMs,
        crypto,
        freshEpoch,
        busyTimeoutMs: 0,
      }),
    );
  }

  get db(): SqliteConnection {
    return this.connection;
  }

  /** True between a COMMIT and its sync. */
  get held(): boolean {
    return this.holding;
  }

  /** The commit sequence that is durable now. */
  durableCommits(): number {
    return this.holding ? this.commitsBefore : this.commits();
  }

  /** The COMMIT becomes durable. */
  sync(): void {
    if (!this.holding) return;
    this.holding = false;
    this.connection.exec('COMMIT');
  }

  /** Power is lost: what was not synced never was. */
  lose(): void {
    this.holding = false;
    if (this.connection.inTransaction) this.connection.exec('ROLLBACK');
  }

  /** A copy of the file as it is durably. */
  backup(): Buffer {
    if (this.holding) throw new Error('a transaction is open');
    return this.connection.serialize();
  }

  /** The file is put back by somebody who knows nothing of epochs. */
  restore(image: Buffer): void {
    this.lose();
    this.connection.close();
    const db = openSqlite(image);
    db.pragma('foreign_keys = ON');
    db.pragma('temp_store = MEMORY');
    this.connection = this.intercept(db);
  }

  /** The disk is gone; an empty one takes its place. */
  replace(freshEpoch: string, nowMs: number): void {
    this.lose();
    this.connection.close();
    this.connection = this.intercept(
      openDatabase({
        path: ':memory:',
        identity: { peerId: this.peerId },
        nowMs,
        crypto: this.crypto,
        freshEpoch,
        busyTimeoutMs: 0,
      }),
    );
  }

  /** No more room than what is used now. */
  fill(): void {
    if (this.holding) return;
    const pages = this.connection.pragma('page_count', { simple: true }) as number;
    this.connection.pragma(`max_page_count = ${pages}`);
  }

  /** Room again. */
  empty(): void {
    this.connection.pragma('max_page_count = 1073741823');
  }

  close(): void {
    this.lose();
    this.connection.close();
  }

  private commits(): number {
    return this.connection.prepare('SELECT commit_sequence FROM log_state').pluck().get() as number;
  }

  /** The one statement that the simulator takes into its hands. */
  private intercept(db: SqliteConnection): SqliteConnection {
    const prepare = db.prepare.bind(db) as (sql: string) => Database.Statement;
    const commits = prepare('SELECT commit_sequence FROM log_state').pluck();
    const hold = () => {
      if (this.failNextCommit) {
        this.failNextCommit = false;
        throw new SyncFailed();
      }
      // The full text writes what it has gathered at a COMMIT, and at a savepoint: a full disk must show now.
      db.exec('SAVEPOINT gathered; RELEASE gathered');
      this.holding = true;
    };
    const intercepted = (sql: string) => {
      const statement = prepare(sql);
      if (sql === 'COMMIT') return override(statement, hold);
      if (sql !== 'BEGIN IMMEDIATE') return statement;
      const begin = statement.run.bind(statement);
      return override(statement, () => {
        this.commitsBefore = commits.get() as number;
        begin();
      });
    };
    Object.defineProperty(db, 'prepare', { value: intercepted });
    // It would run inside of the held transaction, which a full disk then rolls back; a memory has no bytes to overwrite.
    Object.defineProperty(db, 'wipeFreed', { value: () => true });
    return db;
  }
}

function override(statement: Database.Statement, run: () => void): Database.Statement {
  Object.defineProperty(statement, 'run', {
    value: () => {
      run();
      return { changes: 0, lastInsertRowid: 0 };
    },
  });
  return statement;
}
