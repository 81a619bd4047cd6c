import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BatchWorker } from '../../actors/core/batch-worker.js';
import { type ReaderQueue, ThreadedStore, type WriterQueue } from '../../node/runtime/threaded-store.js';
import { systemClock, systemCrypto, systemScheduler } from '../../node/seams.js';
import { spawnStorageThread } from '../../node/threads/spawn.js';
import type { Clock, Log } from '../../protocol/base/seams.js';
import { Reader } from '../../storage/sql/reader.js';
import { openReader } from '../../storage/sqlite/connection.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import { inlineStore, NODE_START } from '../support/inline-store.js';
import { UNLIMITED } from '../support/memories.js';
import { damageContract } from './damage-contract.js';
import { identityContract } from './identity-contract.js';
import { lifeContract } from './life-contract.js';
import { type StoreUnderTest, storeContract } from './store-contract.js';

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

function fixture() {
  const folder = mkdtempSync(join(tmpdir(), 'mnemesh-contract-'));
  let nowMs = 0;
  const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => systemClock.monotonicMs() };
  const path = join(folder, 'store.db');
  const open = () =>
    openDatabase({
      ...NODE_START,
      path,
      crypto: systemCrypto,
      busyTimeoutMs: 100,
    });
  return {
    path,
    clock,
    open,
    setNow: (ms: number) => {
      nowMs = ms;
    },
    onClosed: () => process.once('exit', () => rmSync(folder, { recursive: true, force: true })),
  };
}

async function inline(): Promise<StoreUnderTest> {
  const { path, open, onClosed } = fixture();
  const under = inlineStore(open(), () => openSqlite(path), true);
  return {
    ...under,
    close: async () => {
      await under.close();
      onClosed();
    },
  };
}

async function threaded(): Promise<StoreUnderTest> {
  const { path, clock, open, setNow, onClosed } = fixture();
  open().close();
  const data = {
    place: { engine: 'sqlite' as const, path, synchronous: 'FULL' as const },
    peerId: NODE_START.identity.peerId,
    keyDir: join(dirname(path), 'keys'),
    policy: UNLIMITED,
  };
  const options = {
    clock,
    scheduler: systemScheduler,
    mailbox: { messagesMax: 1000, bytesMax: 1_000_000 },
    batchMessagesMax: 256,
    batchBytesMax: 1_000_000,
    onFault: (error: Error) => {
      throw error;
    },
  };
  const writer: WriterQueue = new BatchWorker({ ...options, name: 'writer' });
  const readers: ReaderQueue = new BatchWorker({ ...options, name: 'reader' });
  const threads = [
    spawnStorageThread<never, never>('writer-thread', data, silent),
    spawnStorageThread<never, never>('reader-thread', data, silent),
  ] as const;
  await Promise.all(threads.map((thread) => thread.ready));
  writer.attach(threads[0] as never);
  readers.attach(threads[1] as never);
  const points = openReader(path);
  const store = new ThreadedStore(writer, readers, new Reader(points), clock);
  return {
    store,
    connect: () => openSqlite(path),
    setNow,
    close: async () => {
      const deadlineMs = clock.monotonicMs() + 5000;
      await Promise.all([writer.stop(deadlineMs), readers.stop(deadlineMs)]);
      for (const thread of threads) thread.close();
      await Promise.all(threads.map((thread) => thread.gone));
      points.close();
      onClosed();
    },
  };
}

storeContract('inline', inline);
storeContract('threads', threaded);
lifeContract('inline', inline);
lifeContract('threads', threaded);
identityContract('inline', inline);
identityContract('threads', threaded);
damageContract('inline', inline);
damageContract('threads', threaded);
