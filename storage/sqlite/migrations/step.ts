import type { Connection } from '../connection.js';
import type { OpenOptions } from '../database-setup.js';

/** What a step may use beside the database. */
export interface MigrationContext {
  readonly options: OpenOptions;
  /** The version that the upgrade began from. */
  readonly from: number;
  /** `options.nowMs` as a canonical instant. */
  readonly now: string;
}

/**
 * One forward step (interface §9.4). It runs inside the upgrade's transaction with foreign keys off, finds a database
 * of version `to - 1` and leaves one of version `to`. A released step never changes; its SQL is its own and is not
 * shared with the current schema. The step to 55 alone follows `schema.ts`, until 55 is released.
 */
export interface MigrationStep {
  readonly to: number;
  apply(db: Connection, context: MigrationContext): void;
}
