import { parentPort, workerData } from 'node:worker_threads';
import { fail } from '../../protocol/base/result.js';
import { KINDS } from '../../protocol/release.js';
import { openForReading } from '../../storage/open/open.js';
import { Reader } from '../../storage/sql/reader.js';
import { rethrowAsNative } from '../../storage/sqlite/native-errors.js';
import { systemClock, systemCrypto } from '../seams.js';
import type { Reading, StorageThreadData, ToThread } from './messages.js';

/** A reader thread of the daemon: answers queries on a connection that cannot write. */
rethrowAsNative();
const port = parentPort!;
const data = workerData as StorageThreadData;
const db = openForReading(data.place);
const reader = new Reader(db, systemCrypto, KINDS, systemClock);

port.on('message', (message: ToThread<Reading>) => {
  if (message === 'close') {
    db.close();
    port.close();
    return;
  }
  port.postMessage({ results: message.batch.map(answer) });
});
port.postMessage('ready');

function answer(reading: Reading) {
  try {
    return reading.kind === 'self-check' ? reader.selfCheck(reading.cursor) : reader.run(reading);
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
    port.postMessage({ bug: { message, stack } });
    return fail('INTERNAL', 'internal server error');
  }
}
