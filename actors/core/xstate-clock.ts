import type { Scheduler, Timer } from '../../protocol/seams.js';

/**
 * Our scheduler in the shape that xstate's `createActor(machine, { clock })` asks for. A delayed
 * restart keeps the process alive: during a start nothing else may, and the node would end without a word.
 */
export const xstateClock = (scheduler: Pick<Scheduler, 'after'>) => ({
  setTimeout: (run: () => void, delayMs: number): Timer => scheduler.after(delayMs, run, { keepAlive: true }),
  clearTimeout: (timer: Timer): void => timer.cancel(),
});
