import { BATCH_COMMANDS_MAX, WRITE_DEADLINE_MS } from '../../protocol/base/limits.js';
import { fail, type Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import type { AnswerOf, Command, OutcomeOf, Query } from '../../protocol/release.js';
import type { CallOptions, SelfCheckPage, Store } from '../../storage/port.js';
import { Reader } from '../../storage/sql/reader.js';
import { Writer, type WriterParts } from '../../storage/sql/writer.js';
import type { Dice } from './dice.js';
import type { SimDisk } from './disk.js';
import { SIM_CHAIN } from './sim-kinds.js';
import type { World } from './world.js';

/** How a disk behaves now; faults change it. */
export interface DiskPace {
  /** A sync takes between these. */
  syncMinMs: number;
  syncMaxMs: number;
  /** How often a read answers late, with what it read before. */
  lateReads: number;
}

export interface SimStoreParts extends Omit<WriterParts, 'db'> {
  readonly kinds: Kinds;
  readonly world: World;
  readonly place: string;
  readonly disk: SimDisk;
  readonly clock: Clock;
  readonly dice: Dice;
  readonly pace: DiskPace;
  /** Called at every sync, before anybody is told. */
  readonly onCommit: (batch: readonly Command[], results: readonly Result<OutcomeOf<Command>>[]) => void;
  /** Asked at every sync: crash before it, after it but before the answers, or not. */
  readonly crashAt: () => 'before' | 'after' | null;
  /** A crash that `crashAt` chose. */
  readonly crash: () => void;
}

interface Waiting {
  readonly command: Command;
  readonly deadlineMs: number;
  readonly resolve: (result: Result<OutcomeOf<Command>>) => void;
}

/** Commands that arrive within this time share a commit. */
const GATHER_MS = 0.05;
const LATE_READ_MS = 3;

/**
 * The daemon's store as the simulator has it: the real writer and reader over one connection in memory, group commit
 * with a sync that takes virtual time, readers that see only what is durable. A crash drops it; what it had not
 * answered is never answered.
 */
export class SimStore implements Store {
  private readonly writer;
  private readonly reader;
  private waiting: Waiting[] = [];
  private readers: (() => void)[] = [];
  private busy = false;
  private dropped = false;
  private closed = false;

  constructor(private readonly parts: SimStoreParts) {
    const { disk, crypto, reportBug, signer, policy, kinds } = parts;
    this.writer = new Writer({
      ...{ db: disk.db, crypto, reportBug, signer, policy },
      ...{ kinds, chain: SIM_CHAIN },
    });
    this.reader = new Reader(disk.db, crypto, kinds);
  }

  execute<C extends Command>(command: C, options: CallOptions = {}): Promise<Result<OutcomeOf<C>>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    const { world, place } = this.parts;
    const outcome = new Promise<Result<OutcomeOf<Command>>>((resolve) => {
      const deadlineMs = world.nowMs + (options.timeoutMs ?? WRITE_DEADLINE_MS);
      const waiting: Waiting = {
        command,
        deadlineMs,
        resolve: (result) => {
          if (!this.dropped) resolve(result);
        },
      };
      this.waiting.push(waiting);
      if (!this.busy) {
        this.busy = true;
        world.after(GATHER_MS, place, 'write', () => this.write());
      }
    });
    return outcome as Promise<Result<OutcomeOf<C>>>;
  }

  query<Q extends Query>(query: Q): Promise<Result<AnswerOf<Q>>> {
    if (this.closed) return Promise.resolve(fail('SHUTTING_DOWN', 'the store is closing'));
    const { disk, dice, pace, world, place } = this.parts;
    return new Promise((resolve, reject) => {
      const read = () => {
        if (this.dropped) return;
        try {
          const result = this.reader.run(query);
          if (!dice.chance(pace.lateReads)) resolve(result);
          else {
            world.after(dice.between(0, LATE_READ_MS), place, 'read', () => {
              if (!this.dropped) resolve(result);
            });
          }
        } catch (error) {
          reject(error);
        }
      };
      if (disk.held) this.readers.push(read);
      else read();
    });
  }

  selfCheck(cursor: string | null): Promise<Result<SelfCheckPage>> {
    return Promise.resolve(this.reader.selfCheck(cursor));
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  /** True when nothing waits. */
  get idle(): boolean {
    return !this.busy;
  }

  /** The process is gone. */
  drop(): void {
    this.dropped = true;
    this.closed = true;
    this.waiting = [];
    this.readers = [];
  }

  private write(): void {
    if (this.dropped) return;
    const { world, place, clock, dice, pace } = this.parts;
    const batch = this.waiting.splice(0, BATCH_COMMANDS_MAX);
    const begun = batch.filter((each) => {
      if (each.deadlineMs > world.nowMs) return true;
      each.resolve(fail('OVERLOADED', 'the store did not get to it'));
      return false;
    });
    const nowMs = clock.nowMs();
    const results = this.writer.run(begun.map(({ command }) => ({ command, nowMs })));
    const syncMs = dice.between(pace.syncMinMs, pace.syncMaxMs);
    for (const { deadlineMs, resolve } of begun) {
      if (deadlineMs >= world.nowMs + syncMs) continue;
      world.after(deadlineMs - world.nowMs, place, 'deadline', () => {
        resolve(fail('DEADLINE', 'the store did not answer in time'));
      });
    }
    world.after(syncMs, place, 'sync', () => this.sync(begun, results));
  }

  private sync(batch: readonly Waiting[], results: readonly Result<OutcomeOf<Command>>[]): void {
    if (this.dropped) return;
    const { disk, crashAt, crash, onCommit, world, place } = this.parts;
    const crashes = disk.held ? crashAt() : null;
    if (crashes === 'before') {
      crash();
      return;
    }
    const committed = disk.held;
    disk.sync();
    if (committed) {
      onCommit(
        batch.map(({ command }) => command),
        results,
      );
    }
    if (crashes === 'after') {
      crash();
      return;
    }
    batch.forEach(({ resolve }, index) => {
      resolve(results[index]!);
    });
    const { readers } = this;
    this.readers = [];
    for (const read of readers) read();
    this.busy = this.waiting.length > 0;
    if (this.busy) world.after(0, place, 'write', () => this.write());
  }
}
