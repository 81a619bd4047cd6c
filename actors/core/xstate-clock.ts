import type { Scheduler, Timer } from '../../protocol/base/seams.js';

/**
 * Our scheduler in the shape that xstate's `createActor(machine, { clock })` needs. A delayed restart keeps the process
 * alive: during a start it may be the only timer, and the node would otherwise end silently.
 */
export const xstateClock = (scheduler: Pick<Scheduler, 'after'>) => ({
  setTimeout: (run: () => void, delayMs: number): Timer => scheduler.after(delayMs, run, { keepAlive: true }),
  clearTimeout: (timer: Timer): void => timer.cancel(),
});
