import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Random, Scheduler } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { permits } from '../../protocol/hooks/decision.js';
import type { HookEvent } from '../../protocol/hooks/events.js';
import type { QueuedAsk } from './hook-chain.js';
import { HOOK_QUESTIONS_MAX } from './limits.js';

/** A question that waits for the operator. */
export interface OpenQuestion {
  readonly id: string;
  readonly hook_event: HookEvent;
  readonly namespace: string | null;
  readonly prompt: string;
  readonly options: readonly string[];
  readonly default: string | null;
  readonly command: string;
  readonly expires_at: string;
}

export interface QuestionsParts {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Pick<Random, 'uuid'>;
  /** Shows a new question to the operators who listen. */
  readonly announce: (question: OpenQuestion) => void;
}

/** As lists show ids; a shorter beginning could mean a question that has just come. */
const BEGINNING_LENGTH_MIN = 8;

/** What was answered; `by` is `default` where no operator did in time. */
export interface Answered {
  readonly answer: string | null;
  readonly by: 'operator' | 'default';
  readonly permitted: boolean;
}

/** The answer that counts without an operator: without a default a write is denied. */
export const usualAnswer = ({ default: usual }: Pick<QueuedAsk, 'default'>): Answered => ({
  answer: usual,
  by: 'default',
  permitted: usual !== null && permits(usual),
});

/** The questions of hooks to the operator. They live in this process, with the calls that wait for them. */
export class Questions {
  readonly #parts: QuestionsParts;
  #isClosed = false;
  readonly #open = new Map<string, { question: OpenQuestion; settle: (answered: Answered) => void }>();

  constructor(parts: QuestionsParts) {
    this.#parts = parts;
  }

  list(): OpenQuestion[] {
    return [...this.#open.values()].map(({ question }) => question);
  }

  /** Asks, and resolves with the answer, or with the default after `waitMs`. */
  ask(
    about: { readonly event: HookEvent; readonly namespace: string | null },
    asked: QueuedAsk,
    waitMs: number,
  ): Promise<Answered> {
    const isFull = this.#open.size >= HOOK_QUESTIONS_MAX;
    if (waitMs <= 0 || isFull || this.#isClosed) return Promise.resolve(usualAnswer(asked));
    const { clock, scheduler, random, announce } = this.#parts;
    const question: OpenQuestion = {
      id: random.uuid(),
      hook_event: about.event,
      namespace: about.namespace,
      prompt: asked.prompt,
      options: asked.options,
      default: asked.default,
      command: asked.origin_command,
      expires_at: instantFromMs(clock.nowMs() + waitMs),
    };
    return new Promise((resolve) => {
      const settle = (answered: Answered) => {
        timer.cancel();
        this.#open.delete(question.id);
        resolve(answered);
      };
      const timer = scheduler.after(waitMs, () => settle(usualAnswer(asked)));
      this.#open.set(question.id, { question, settle });
      announce(question);
    });
  }

  /** Answers the open question whose id begins so. NOT_FOUND for one that was answered or has expired. */
  answer(
    id: string,
    answer: string,
  ): Result<{ readonly question: OpenQuestion; readonly permitted: boolean }> {
    const isLong = id.length >= BEGINNING_LENGTH_MIN;
    const found = [...this.#open.values()].filter(({ question }) => isLong && question.id.startsWith(id));
    const [open] = found;
    if (open === undefined)
      return fail('NOT_FOUND', 'no such question is open: it was answered, or its time is over');
    if (found.length > 1) return fail('AMBIGUOUS_ID_PREFIX', 'more than one open question begins so');
    const { question, settle } = open;
    const { options } = question;
    const chosen = options.find((option) => option.toLowerCase() === answer.trim().toLowerCase()) ?? null;
    if (options.length > 0 && chosen === null) {
      return fail('VALIDATION_FAILED', `answer: must be ${options.join(' or ')}`, { fields: ['answer'] });
    }
    const said = chosen ?? answer;
    const permitted = permits(said);
    settle({ answer: said, by: 'operator', permitted });
    return ok({ question, permitted });
  }

  /** Applies the default to all open questions, and to every question from now on. */
  close(): void {
    this.#isClosed = true;
    for (const { question, settle } of [...this.#open.values()]) settle(usualAnswer(question));
  }
}
