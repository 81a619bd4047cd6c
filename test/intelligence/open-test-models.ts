import { Secret } from '../../node/config/secret.js';
import { defaultsIn, type Settings } from '../../node/config/settings.js';
import type { Models, Question } from '../../node/models/models.js';
import { openModels } from '../../node/models/open-models.js';
import { linesAnswer } from '../../node/models/read-answer.js';
import type { Store } from '../../storage/port.js';
import { realClock, realScheduler, recordingLog } from '../storage/vectors/real-seams.js';

/** A clock that a test moves; it begins where the real one is. */
export class MovedClock {
  aheadMs = 0;
  nowMs = (): number => realClock.nowMs() + this.aheadMs;
  monotonicMs = (): number => realClock.monotonicMs() + this.aheadMs;
}

export interface TestModels {
  readonly models: Models;
  readonly log: ReturnType<typeof recordingLog>;
  readonly clock: MovedClock;
  /** The commands that count requests, in their order. */
  readonly counted: Readonly<Record<string, unknown>>[];
}

/** The models of settings, with a store that only remembers what is counted. */
export function openTestModels(settings: Partial<Settings>): TestModels {
  const log = recordingLog();
  const clock = new MovedClock();
  const counted: Readonly<Record<string, unknown>>[] = [];
  const store = {
    execute: (command: Readonly<Record<string, unknown>>) => {
      counted.push(command);
      return Promise.resolve({ ok: true, value: { day: '2026-01-02' } });
    },
  } as unknown as Pick<Store, 'execute'>;
  const models = openModels({
    ...{ settings: { ...defaultsIn('/nowhere'), ...settings }, store, log, clock },
    scheduler: realScheduler,
  });
  return { models, log, clock, counted };
}

export const secret = (key: string): Secret => new Secret(key);

/** A question whose answer is words, one for each line. */
export const WORDS: Question<readonly string[]> = {
  feature: 'consolidate',
  system: 'Say words.',
  prompt: 'Which words?',
  maxTokens: 50,
  read: linesAnswer({
    itemsMax: 3,
    item: (line) => (/^\w+$/.test(line) ? line : null),
    none: 'it has no word.',
  }),
};

/** Limits of a caller who waits so long. */
export const within = (ms: number, signal?: AbortSignal) => ({
  deadlineMs: realClock.monotonicMs() + ms,
  signal,
});
