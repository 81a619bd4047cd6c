import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { systemCrypto } from '../../node/seams.js';
import type { Result } from '../../protocol/base/result.js';
import type { Memory } from '../../protocol/memory/memory.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import type { Connection } from '../../storage/sql/connection.js';
import { Writer } from '../../storage/sql/writer.js';
import type { Synchronous } from '../../storage/sqlite/connection.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { storing, UNLIMITED } from '../support/memories.js';

/** Where the daemon looks for its database. */
export const databasePath = (home: string) => join(home, 'mnemesh.db');

/** The service's own writer on a database, without a service around it. */
export interface BenchDatabase<C extends Connection = SqliteConnection> {
  readonly db: C;
  /** Runs commands in one transaction; throws when one of them fails. */
  write(commands: readonly Command[]): Result<OutcomeOf<Command>>[];
  close(): void;
}

/** Opens or creates a database; `:memory:` for one that is on no disk. That of a node is written as that node. */
export function openBenchDatabase(path: string, synchronous: Synchronous, peerId = 'bench'): BenchDatabase {
  return writingTo(
    openDatabase({
      path,
      identity: { peerId },
      nowMs: Date.now(),
      crypto: systemCrypto,
      freshEpoch: randomBytes(8).toString('hex'),
      busyTimeoutMs: 1000,
      synchronous,
    }),
  );
}

/** The service's own writer on an open database. */
export function writingTo<C extends Connection>(db: C): BenchDatabase<C> {
  const writer = new Writer({
    db,
    crypto: systemCrypto,
    reportBug: (error) => {
      throw error;
    },
    signer: null,
    policy: UNLIMITED,
  });
  return {
    db,
    write(commands) {
      const nowMs = Date.now();
      const results = writer.run(commands.map((command) => ({ command, nowMs })));
      const failure = results.find((result) => !result.ok);
      if (failure !== undefined && !failure.ok) throw new Error(failure.error.message);
      return results;
    },
    close: () => db.close(),
  };
}

/** The command by which the `store` workload's rows are stored, as the daemon would make it. */
export function storeCommand(fields: Partial<Memory>): Command {
  const now = new Date().toISOString();
  return storing({
    created_at: now,
    updated_at: now,
    metadata: { agent_id: 'ai:bench', attest_level: 'claimed' },
    ...fields,
  });
}

/** Stores rows in batches; told of progress after each. */
export function fill(
  database: BenchDatabase<Connection>,
  rows: number,
  row: (index: number) => Partial<Memory>,
  progressed: (done: number) => void,
): void {
  const batchRows = 500;
  for (let done = 0; done < rows; done += batchRows) {
    const count = Math.min(batchRows, rows - done);
    database.write(Array.from({ length: count }, (_, at) => storeCommand(row(done + at))));
    progressed(done + count);
  }
}
