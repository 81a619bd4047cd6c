import type { ChildSlots } from '../../actors/hooks/child-slots.js';
import type { HookOutput, RunTime } from '../../actors/hooks/hook-chain.js';
import { HOOK_OUTPUT_BYTES_MAX } from '../../actors/hooks/limits.js';
import type { Executor } from '../../actors/hooks/registered-hook.js';
import type { Clock, Scheduler } from '../../protocol/base/seams.js';
import { endProblem, type HookPlace, HookProcess } from './hook-process.js';

export interface ExecutorParts {
  readonly place: HookPlace;
  /** Why the rules of the operator refuse to start a program; null where they do not. */
  readonly refusal: (command: string) => Promise<string | null>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Scheduler;
}

const SHUTTING_DOWN: HookOutput = { kind: 'failed', problem: 'the node is shutting down' };

/** A run that waited so long for its place lost its time to others, and not by itself. */
const NOTICED_WAIT_MS = 20;

/** When a run that begins now must have ended, and whether its wait since `askedMs` left it less than its own time. */
export function ownTime(
  clock: Pick<Clock, 'monotonicMs'>,
  { askedMs, ownMs, deadlineMs }: Readonly<Record<'askedMs' | 'ownMs' | 'deadlineMs', number>>,
) {
  const nowMs = clock.monotonicMs();
  const isShort = nowMs + ownMs > deadlineMs && nowMs - askedMs > NOTICED_WAIT_MS;
  return { untilMs: Math.min(nowMs + ownMs, deadlineMs), isShort };
}

/** Pauses before a start that failed for want of resources is repeated. */
const RETRY_MS = [10, 50, 200, 1000];

/** A hook whose program is started for each event: the event on standard input, the decision on standard output. */
export class ExecHook implements Executor {
  readonly #running = new Set<HookProcess>();
  #isClosed = false;

  constructor(
    private readonly command: string,
    private readonly slots: ChildSlots,
    private readonly parts: ExecutorParts,
  ) {}

  async run(line: string, { leftMs, ownMs }: RunTime): Promise<HookOutput> {
    const { clock } = this.parts;
    const deadlineMs = clock.monotonicMs() + leftMs;
    const refusal = await this.parts.refusal(this.command);
    if (refusal !== null) return { kind: 'failed', problem: refusal };
    const askedMs = clock.monotonicMs();
    const release = await this.slots.take(deadlineMs);
    if (typeof release === 'string') return { kind: release };
    const { untilMs, isShort } = ownTime(clock, { askedMs, ownMs, deadlineMs });
    let started: HookProcess | HookOutput | null = null;
    try {
      started = await this.#start(untilMs);
    } finally {
      if (!(started instanceof HookProcess)) release();
    }
    if (!(started instanceof HookProcess)) return started;
    this.#running.add(started);
    // A place is free again when the process has gone, not when its time is over.
    void started.closed.then(() => {
      this.#running.delete(started);
      release();
    });
    const output = await this.#answer(started, line, untilMs);
    return output.kind === 'timeout' && isShort ? { kind: 'busy' } : output;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#running];
    for (const each of running) each.end();
    await Promise.all(running.map(({ closed }) => closed));
  }

  async #start(untilMs: number): Promise<HookProcess | HookOutput> {
    const { clock, scheduler, place } = this.parts;
    for (let tries = 0; ; tries += 1) {
      if (this.#isClosed) return SHUTTING_DOWN;
      const process = HookProcess.start(this.command, place);
      const started = process instanceof HookProcess ? ((await process.started) ?? process) : process;
      if (started instanceof HookProcess) {
        if (!this.#isClosed) return started;
        started.end();
        return SHUTTING_DOWN;
      }
      const pauseMs = RETRY_MS[tries];
      if (!started.transient || pauseMs === undefined) return { kind: 'failed', problem: started.problem };
      if (clock.monotonicMs() + pauseMs >= untilMs) return { kind: 'timeout' };
      await new Promise<void>((resolve) => {
        scheduler.after(pauseMs, resolve, { keepAlive: true });
      });
    }
  }

  #answer(started: HookProcess, line: string, untilMs: number): Promise<HookOutput> {
    const { clock, scheduler } = this.parts;
    const { child } = started;
    return new Promise((resolve) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      const settle = (output: HookOutput) => {
        timer.cancel();
        resolve(output);
      };
      const timer = scheduler.after(
        Math.max(0, untilMs - clock.monotonicMs()),
        () => {
          settle({ kind: 'timeout' });
          started.end();
        },
        { keepAlive: true },
      );
      child.stdout.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= HOOK_OUTPUT_BYTES_MAX) {
          pieces.push(chunk);
          return;
        }
        settle({ kind: 'failed', problem: `it wrote more than ${HOOK_OUTPUT_BYTES_MAX} bytes` });
        started.end();
      });
      void endProblem(started).then((problem) =>
        settle(
          problem === null
            ? { kind: 'said', text: Buffer.concat(pieces).toString('utf8') }
            : { kind: 'failed', problem },
        ),
      );
      child.stdin.end(line);
    });
  }
}
