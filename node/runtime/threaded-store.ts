import type { BatchWorker } from '../../actors/core/batch-worker.js';
import type { Command, OutcomeOf } from '../../protocol/commands.js';
import { REQUEST_DEADLINE_MS, WRITE_DEADLINE_MS } from '../../protocol/limits.js';
import type { RankedMemories, RecallMemories } from '../../protocol/memory/queries.js';
import type { AnswerOf, Answers, Query } from '../../protocol/queries.js';
import { fail, ok, type Result } from '../../protocol/result.js';
import type { Clock } from '../../protocol/seams.js';
import type { CallOptions, SelfCheckPage, Store, TimedCommand } from '../../storage/port.js';
import type { Reader } from '../../storage/sqlite/reader.js';
import type { Read, Reading } from '../threads/messages.js';

export type WriterQueue = BatchWorker<TimedCommand, OutcomeOf<Command>>;
export type ReaderQueue = BatchWorker<Reading, Read>;

/** Bytes of a command beyond its text, for the mailbox's limit. */
const COMMAND_OVERHEAD_BYTES = 1024;
const TOUCH_BYTES = 128;
const ID_BYTES = 256;

/** The store of the daemon: one writer thread, reader threads, and point reads on the calling thread. */
export class ThreadedStore implements Store {
  private closed = false;

  constructor(
    private readonly writer: WriterQueue,
    private readonly readers: ReaderQueue,
    private readonly points: Reader,
    private readonly clock: Clock,
  ) {}

  execute<C extends Command>(command: C, options: CallOptions = {}): Promise<Result<OutcomeOf<C>>> {
    const timeoutMs = options.timeoutMs ?? WRITE_DEADLINE_MS;
    return this.writer.ask({ command, nowMs: this.clock.nowMs() }, sizeBytesOf(command), {
      deadlineMs: this.clock.monotonicMs() + timeoutMs,
      lane: options.lane ?? 'interactive',
    }) as Promise<Result<OutcomeOf<C>>>;
  }

  query<Q extends Query>(query: Q, options: CallOptions = {}): Promise<Result<AnswerOf<Q>>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    if (this.points.isLookup(query)) {
      try {
        return Promise.resolve(this.points.run(query));
      } catch (error) {
        return Promise.reject(error);
      }
    }
    if (query.kind === 'prepare-recall' && !this.mayPrepare()) {
      return Promise.resolve(ok({ prepared: false }) as Result<AnswerOf<Q>>);
    }
    if (query.kind === 'recall-memories') {
      return this.recall(query, options) as Promise<Result<AnswerOf<Q>>>;
    }
    return this.ask(query, options) as Promise<Result<AnswerOf<Q>>>;
  }

  /**
   * False where a recall may run on another reader than its preparation, which would be wasted. Of several readers that
   * rest the first takes both.
   */
  private mayPrepare(): boolean {
    const { ports, queued, batchesInFlight } = this.readers.stats();
    return ports === 1 || queued + batchesInFlight === 0;
  }

  /**
   * A thread ranks, and this thread reads the few rows that won: whole rows are expensive to send and cheap to read.
   */
  private async recall(
    query: RecallMemories,
    options: CallOptions,
  ): Promise<Result<Answers['recall-memories']>> {
    const { request, prepared = null } = query;
    const ranked = await this.ask({ kind: 'rank-memories', request, prepared }, options);
    if (!ranked.ok) return ranked;
    if (this.closed) return fail('SHUTTING_DOWN', 'the store is closing');
    return this.points.readWinners(query.request, ranked.value as RankedMemories);
  }

  selfCheck(cursor: string | null, options: CallOptions = {}): Promise<Result<SelfCheckPage>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    return this.ask({ kind: 'self-check', cursor }, options) as Promise<Result<SelfCheckPage>>;
  }

  private ask(query: Reading, options: CallOptions): Promise<Result<Read>> {
    return this.readers.ask(query, COMMAND_OVERHEAD_BYTES, {
      deadlineMs: this.clock.monotonicMs() + (options.timeoutMs ?? REQUEST_DEADLINE_MS),
      lane: options.lane ?? 'interactive',
    });
  }

  /** Refuses further queries; the threads and connections belong to the supervisor. */
  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
}

/** Two bytes a character, and as much again for the objects that hold them. */
function textBytes(content: string, metadata: object): number {
  return 2 * content.length + 4 * JSON.stringify(metadata).length;
}

function sizeBytesOf(command: Command): number {
  switch (command.kind) {
    case 'store-memory':
    case 'import-memory':
    case 'receive-memory':
      return COMMAND_OVERHEAD_BYTES + textBytes(command.memory.content, command.memory.metadata);
    case 'update-memory':
      return COMMAND_OVERHEAD_BYTES + textBytes(command.patch.content ?? '', command.patch.metadata ?? {});
    case 'consolidate-memories':
      return COMMAND_OVERHEAD_BYTES + ID_BYTES * command.ids.length + textBytes(command.summary ?? '', {});
    case 'archive-memories':
      return COMMAND_OVERHEAD_BYTES + ID_BYTES * command.ids.length;
    case 'touch-memories':
      return (
        COMMAND_OVERHEAD_BYTES +
        TOUCH_BYTES *
          (command.observations ?? []).reduce(
            (sum, one) => sum + one.memoryIds.length,
            command.touches.length,
          )
      );
    case 'apply-operations':
    case 'repair-subjects':
      return command.operations.reduce(
        (sum, { payload }) => sum + COMMAND_OVERHEAD_BYTES + textBytes(payload ?? '', {}),
        COMMAND_OVERHEAD_BYTES,
      );
    case 'put-embeddings':
      return command.rows.reduce((sum, row) => sum + (row.vectors?.byteLength ?? 0), COMMAND_OVERHEAD_BYTES);
    default:
      return COMMAND_OVERHEAD_BYTES;
  }
}
