import { type EventEmitter, once } from 'node:events';

/** Where a test does not say how long it waits: long enough for a busy machine, and short of the runner's patience. */
const WITHIN_MS = 20_000;
const EVERY_MS = 10;

export interface WaitOptions {
  readonly withinMs?: number;
  /** Between two looks; 0 is a turn of the event loop. */
  readonly everyMs?: number;
  /** What the failure shows besides: the output of a process, say. */
  readonly seen?: () => string;
}

/** Waits until something holds; answers the milliseconds that it took. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  options: WaitOptions = {},
): Promise<number> {
  const beganMs = performance.now();
  await poll(
    what,
    async () => holds(),
    Boolean,
    () => '',
    options,
  );
  return performance.now() - beganMs;
}

/** Asks until an answer fits, and answers it. */
export function untilAnswer<T>(
  what: string,
  ask: () => Promise<T>,
  fits: (answer: T) => boolean,
  options: WaitOptions = {},
): Promise<T> {
  return poll(what, ask, fits, (answer) => JSON.stringify(answer), options);
}

/** What a promise comes to, which must be soon. */
export async function within<T>(
  what: string,
  promise: Promise<T>,
  { withinMs = WITHIN_MS, seen = () => '' }: Omit<WaitOptions, 'everyMs'> = {},
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate(what, withinMs, seen())), withinMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The values of the next event of a name, which must come soon. */
export function event(
  what: string,
  emitter: EventEmitter,
  name: string,
  options: Omit<WaitOptions, 'everyMs'> = {},
): Promise<unknown[]> {
  return within(what, once(emitter, name), options);
}

/** An answer that never comes counts as one that does not fit. */
async function poll<T>(
  what: string,
  ask: () => Promise<T>,
  fits: (answer: T) => boolean,
  show: (answer: T) => string,
  { withinMs = WITHIN_MS, everyMs = EVERY_MS, seen = () => '' }: WaitOptions,
): Promise<T> {
  const endMs = performance.now() + withinMs;
  let last = 'nothing was answered';
  for (;;) {
    const leftMs = Math.max(1, endMs - performance.now());
    const answer = await within(what, ask(), { withinMs: leftMs, seen: () => `${last}\n${seen()}` });
    if (fits(answer)) return answer;
    last = show(answer);
    if (performance.now() > endMs) throw tooLate(what, withinMs, `${last}\n${seen()}`);
    await new Promise<void>((resume) => {
      if (everyMs === 0) setImmediate(resume);
      else setTimeout(resume, everyMs);
    });
  }
}

function tooLate(what: string, withinMs: number, seen: string): Error {
  return new Error(`waited ${Math.round(withinMs)} ms in vain: ${what}\n${seen}`.trimEnd());
}
