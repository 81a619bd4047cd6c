import { availableParallelism } from 'node:os';
import { BatchWorker } from '../../actors/core/batch-worker.js';
import type { ChildSpec } from '../../actors/core/child.js';
import type { FailureReport } from '../../actors/core/supervision.js';
import { type Supervisor, supervisorChild } from '../../actors/core/supervisor.js';
import { type StorageThread, storageThread } from '../../actors/storage/storage-thread.js';
import * as limits from '../../protocol/base/limits.js';
import type { Log } from '../../protocol/base/seams.js';
import { nodePolicy } from '../../protocol/decide/node-policy.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import { type DamageReports, DamageWatch } from '../../storage/damage-watch.js';
import { type DatabasePlace, openForReading } from '../../storage/open/open.js';
import type { Store, TimedCommand } from '../../storage/port.js';
import type { Connection } from '../../storage/sql/connection.js';
import { Reader } from '../../storage/sql/reader.js';
import type { Settings } from '../config/settings.js';
import { STORAGE_POLICY } from '../restart-policies.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../seams.js';
import type { Read, Reading, StorageThreadData } from '../threads/messages.js';
import { placeOf } from '../threads/open-database.js';
import { spawnStorageThread } from '../threads/spawn.js';
import { type ReaderQueue, ThreadedStore, type WriterQueue } from './threaded-store.js';

const READERS_MAX = 4;
/** On two cores a second reader raises the recalls of large databases by half, although the main thread needs a core too. */
const READERS_MIN = 2;
const READER_BATCH_MESSAGES = 8;

/** A thread that runs, whatever it answers. */
type LiveThread = Pick<StorageThread<never, never>, 'kill' | 'gone'>;

/** The threads of one kind that run now. */
class LiveThreads {
  readonly #threads = new Set<LiveThread>();

  add(thread: LiveThread): void {
    this.#threads.add(thread);
    void thread.gone.then(() => this.#threads.delete(thread));
  }

  /** Ends them without warning. */
  kill(): void {
    for (const thread of this.#threads) thread.kill();
  }
}

/** How many readers a machine with so many cores gets. */
export const readerCountFor = (cores: number): number =>
  Math.min(cores, READERS_MAX, Math.max(READERS_MIN, cores - 1));

/** How the supervisor of the storage threads reports to the daemon. */
export interface StorageListener {
  readonly onStart: (supervisor: Supervisor) => void;
  readonly onFailure: (report: FailureReport) => void;
}

/** The storage of a daemon: queues to a writer thread and reader threads, and the store in front of them. */
export class DaemonStorage {
  readonly store: Store;
  readonly #settings: Settings;
  readonly #place: DatabasePlace;
  readonly #threadData: StorageThreadData;
  readonly #log: Log;
  readonly #writer: WriterQueue;
  readonly #readers: ReaderQueue;
  readonly #readerCount = readerCountFor(availableParallelism());
  /** Reads of a file with one index lookup run here, without a thread in between; a server would let this thread wait. */
  readonly #points: Connection | null;
  readonly #writerThreads = new LiveThreads();
  readonly #readerThreads = new LiveThreads();

  /** The database must exist. Nothing is answered before the child has started. */
  constructor(settings: Settings, peerId: string, log: Log, reports: DamageReports) {
    this.#settings = settings;
    this.#log = log;
    this.#place = placeOf(settings);
    this.#threadData = {
      place: this.#place,
      peerId,
      keyDir: settings.keyDir,
      policy: nodePolicy(settings, systemRandom.uuid()),
    };
    this.#writer = this.#writerQueue();
    this.#readers = this.#readerQueue();
    this.#points = this.#place.engine === 'sqlite' ? openForReading(this.#place, { mapped: false }) : null;
    const reader = this.#points === null ? null : new Reader(this.#points, systemCrypto);
    const threads = new ThreadedStore(this.#writer, this.#readers, reader, systemClock);
    this.store = new DamageWatch(threads, systemClock, reports);
  }

  /** Commands that wait for the writer. */
  get queued(): number {
    return this.#writer.stats().queued;
  }

  /** The supervisor of the threads. When a thread keeps failing it ends, and the node with it. */
  child({ onStart, onFailure }: StorageListener): ChildSpec {
    const readers = Array.from({ length: this.#readerCount }, (_, index) => this.#readerChild(index + 1));
    return supervisorChild(
      'storage',
      { ...STORAGE_POLICY, restartsMax: 0 },
      {
        clock: systemClock,
        scheduler: systemScheduler,
        random: systemRandom,
        onFailure,
        children: [this.#writerChild(), ...readers],
      },
      onStart,
    );
  }

  /** No thread will start any more: requests that wait for one are answered at once. */
  giveUp(): void {
    const nowMs = systemClock.monotonicMs();
    void this.#writer.stop(nowMs);
    void this.#readers.stop(nowMs);
  }

  /** Answers waiting requests until `deadlineMs` (monotonic), and closes; the threads have already stopped. */
  async close(deadlineMs: number): Promise<void> {
    await this.#writer.stop(deadlineMs);
    await this.#readers.stop(deadlineMs);
    await this.store.close();
    this.#points?.close();
  }

  /** Ends the writer thread without warning. */
  crashWriter(): void {
    this.#writerThreads.kill();
  }

  /** Ends the reader threads without warning. */
  crashReaders(): void {
    this.#readerThreads.kill();
  }

  #writerQueue(): WriterQueue {
    return new BatchWorker({
      name: 'storage writer',
      clock: systemClock,
      scheduler: systemScheduler,
      mailbox: { messagesMax: limits.WRITER_MAILBOX_MESSAGES_MAX, bytesMax: limits.WRITER_MAILBOX_BYTES_MAX },
      batchMessagesMax: limits.BATCH_COMMANDS_MAX,
      batchBytesMax: limits.BATCH_BYTES_MAX,
      // All connections that have something to read in one turn of the event loop share a commit.
      gather: (dispatch) => systemScheduler.immediate(dispatch),
      onFault: (error) => {
        this.#log.error({ err: error }, 'the storage writer broke its contract');
        this.#writerThreads.kill();
      },
    });
  }

  #readerQueue(): ReaderQueue {
    return new BatchWorker({
      name: 'storage reader',
      clock: systemClock,
      scheduler: systemScheduler,
      mailbox: { messagesMax: limits.READER_MAILBOX_MESSAGES_MAX, bytesMax: limits.READER_MAILBOX_BYTES_MAX },
      batchMessagesMax: READER_BATCH_MESSAGES,
      batchBytesMax: limits.BATCH_BYTES_MAX,
      portsMax: this.#readerCount,
      onFault: (error) => {
        this.#log.error({ err: error }, 'a storage reader broke its contract');
        this.#readerThreads.kill();
      },
    });
  }

  #writerChild(): ChildSpec {
    return storageThread<TimedCommand, OutcomeOf<Command>>({
      id: 'writer',
      policy: STORAGE_POLICY,
      worker: this.#writer,
      spawn: () => spawnStorageThread('writer-thread', this.#threadData, this.#log),
      onSpawn: (thread) => this.#writerThreads.add(thread),
      stopTimeoutMs: this.#settings.shutdownGraceMs,
    });
  }

  #readerChild(number: number): ChildSpec {
    return storageThread<Reading, Read>({
      id: `reader-${number}`,
      policy: STORAGE_POLICY,
      worker: this.#readers,
      spawn: () => spawnStorageThread('reader-thread', this.#threadData, this.#log),
      onSpawn: (thread) => this.#readerThreads.add(thread),
      stopTimeoutMs: this.#settings.shutdownGraceMs,
    });
  }
}
