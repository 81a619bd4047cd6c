import { parentPort, workerData } from 'node:worker_threads';
import type { TimedCommand } from '../../storage/port.js';
import { stayedLocked } from '../../storage/sql/failures.js';
import { DatabaseBusyError, Writer } from '../../storage/sql/writer.js';
import { rethrowAsNative } from '../../storage/sqlite/native-errors.js';
import { loadMachineIdentity } from '../identity/machine-key.js';
import { systemClock, systemCrypto, systemRandom } from '../seams.js';
import type { StorageThreadData, ToThread } from './messages.js';
import { openAs } from './open-database.js';

/**
 * The daemon's writer thread: the only place where the daemon writes. A batch is a transaction. Another process may
 * hold the lock meanwhile; SQLite waits for it in this thread, where it delays no other work.
 */
const BUSY_TIMEOUT_MS = 10_000;

rethrowAsNative();
const port = parentPort!;
const data = workerData as StorageThreadData;

const db = openAs(data.place, data.peerId, { busyTimeoutMs: BUSY_TIMEOUT_MS });
const { key } = loadMachineIdentity(data.keyDir, systemRandom);
const writer = new Writer({
  db,
  crypto: systemCrypto,
  reportBug,
  signer: key,
  policy: data.policy,
  clock: systemClock,
});

function reportBug(error: unknown): void {
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  port.postMessage({ bug: { message, stack } });
}

port.on('message', (message: ToThread<TimedCommand>) => {
  if (message === 'close') {
    db.close();
    port.close();
    return;
  }
  port.postMessage({ results: run(message.batch) });
});
port.postMessage('ready');

function run(batch: readonly TimedCommand[]) {
  try {
    return writer.run(batch);
  } catch (error) {
    if (!(error instanceof DatabaseBusyError)) throw error;
    return batch.map(() => stayedLocked());
  }
}
