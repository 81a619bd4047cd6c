import type { Instant } from '../../../protocol/base/meanings.js';
import type { OpenOptions } from '../file-schema.js';
import type { SqliteConnection } from '../sqlite-connection.js';

/** What a step may use besides the database. */
export interface MigrationContext {
  readonly options: OpenOptions;
  /** The version at the start of the upgrade. */
  readonly from: number;
  /** `options.nowMs` as a canonical instant. */
  readonly now: Instant;
}

/**
 * One forward step (interface §9.4). It runs inside the upgrade's transaction with foreign keys off, gets a database of
 * version `to - 1` and leaves version `to`. A released step never changes; it has its own SQL, which it does not share
 * with the current schema. Only the step to 55 follows `schema.ts`, until 55 is released.
 */
export interface MigrationStep {
  readonly to: number;
  apply(db: SqliteConnection, context: MigrationContext): void;
}
