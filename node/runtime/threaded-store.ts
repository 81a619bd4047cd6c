import type { AskOptions } from '../../actors/core/ask.js';
import type { BatchWorker } from '../../actors/core/batch-worker.js';
import { REQUEST_DEADLINE_MS, WRITE_DEADLINE_MS } from '../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import { bytesOf, textOf } from '../../protocol/decide/command.js';
import type { RankedMemories, RecallMemories } from '../../protocol/memory/queries.js';
import type { AnswerOf, Answers, Command, OutcomeOf, Query } from '../../protocol/release.js';
import { COMMANDS } from '../../protocol/release.js';
import type { CallOptions, SelfCheckPage, Store, TimedCommand } from '../../storage/port.js';
import type { Reader } from '../../storage/sql/reader.js';
import type { Read, Reading } from '../threads/messages.js';

export type WriterQueue = BatchWorker<TimedCommand, OutcomeOf<Command>>;
export type ReaderQueue = BatchWorker<Reading, Read>;

/** What a query takes in a mailbox. */
const QUERY_BYTES = 1024;

/** The store of the daemon: one writer thread, reader threads, and point reads on the calling thread. */
export class ThreadedStore implements Store {
  private closed = false;
  private indexing: Promise<Result<Read> | null> = Promise.resolve(null);
  /** By sender: settles when the writer has its last command whose texts were long. */
  private readonly preparing = new Map<string, Promise<void>>();

  constructor(
    private readonly writer: WriterQueue,
    private readonly readers: ReaderQueue,
    /** Null where this thread must not wait for the engine. */
    private readonly points: Reader | null,
    private readonly clock: Clock,
  ) {}

  execute<C extends Command>(command: C, options: CallOptions = {}): Promise<Result<OutcomeOf<C>>> {
    const deadlineMs = this.clock.monotonicMs() + (options.timeoutMs ?? WRITE_DEADLINE_MS);
    const from = senderOf(command);
    const asked: AskOptions = { deadlineMs, lane: options.lane ?? 'interactive', from };
    const timed = { command, nowMs: this.clock.nowMs() };
    const size = bytesOf(COMMANDS.of(command), command);
    const texts = longTextsOf(command);
    const before = this.preparing.get(from);
    if (texts.length === 0 && before === undefined)
      return this.writer.ask(timed, size, asked) as Promise<Result<OutcomeOf<C>>>;
    // The commands of one sender reach the writer in their order.
    const known = this.indexed(texts, options);
    const told = Promise.all([known, before]).then(([indexed]) => ({
      outcome: this.writer.ask({ ...timed, indexed }, size, asked),
    }));
    const passed = told.then(() => {
      if (this.preparing.get(from) === passed) this.preparing.delete(from);
    });
    this.preparing.set(from, passed);
    return told.then(({ outcome }) => outcome) as Promise<Result<OutcomeOf<C>>>;
  }

  /** What the index holds for long texts, found by a reader thread; nothing where that fails: then the writer finds it. */
  private async indexed(
    texts: readonly string[],
    { timeoutMs }: CallOptions,
  ): Promise<NonNullable<TimedCommand['indexed']>> {
    if (texts.length === 0) return [];
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    // One reader at a time, so that others answer questions.
    this.indexing = this.indexing.then(() =>
      this.ask({ kind: 'index-texts', texts }, { ...options, lane: 'background' }),
    );
    const found = await this.indexing;
    if (found === null || !found.ok) return [];
    const { indexed } = found.value as Answers['index-texts'];
    return texts.map((text, at) => [text, indexed[at]!] as const);
  }

  query<Q extends Query>(query: Q, options: CallOptions = {}): Promise<Result<AnswerOf<Q>>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    if (this.points?.isLookup(query) === true) {
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
    if (this.points === null) return this.ask(query, options) as Promise<Result<Answers['recall-memories']>>;
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
    return this.readers.ask(query, QUERY_BYTES, {
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

/** From this length on, finding what the index holds for a text takes longer than a message to a thread. */
const LONG_TEXT_CHARACTERS = 4096;

function longTextsOf(command: Command): readonly string[] {
  const text = textOf(COMMANDS.of(command), command);
  return text !== null && text.length >= LONG_TEXT_CHARACTERS ? [text] : [];
}

/** The agent that a command acts for; all without a name are one. */
function senderOf(command: Command): string {
  return 'viewer' in command ? (command.viewer.agentId ?? '') : '';
}
