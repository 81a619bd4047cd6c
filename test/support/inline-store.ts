import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import { openPostgres } from '../../storage/postgres/open-postgres.js';
import { PostgresConnection } from '../../storage/postgres/postgres-connection.js';
import type { Connection } from '../../storage/sql/connection.js';
import { InlineStore } from '../../storage/sql/inline-store.js';
import { UNLIMITED } from './memories.js';

/** The node that has a database of a test, and when it began. */
export const NODE_START = {
  identity: { peerId: 'peer-0000000000000001' },
  nowMs: 1,
  freshEpoch: '00112233aabbccdd',
};

const STATEMENT_TIMEOUT_MS = 30_000;

/** A store over an open database, with a wall clock that the test moves; `connect` opens another connection to the database. */
export function inlineStore(db: Connection, connect: () => Connection, shared = false) {
  let nowMs = 0;
  const store = new InlineStore({
    ...{ db, scheduler: systemScheduler, random: systemRandom, crypto: systemCrypto },
    clock: { nowMs: () => nowMs, monotonicMs: () => systemClock.monotonicMs() },
    reportBug: (error) => {
      throw error;
    },
    ...{ signer: null, policy: UNLIMITED, shared },
  });
  return {
    store,
    connect,
    setNow(ms: number) {
      nowMs = ms;
    },
    close: () => store.close(),
  };
}

/** The same over a database of a server. */
export function inlineStoreOnServer(url: string, start = NODE_START) {
  const place = { url, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  return inlineStore(openPostgres(place, start), () => new PostgresConnection({ ...place, readOnly: false }));
}
