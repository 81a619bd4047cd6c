import {
  MODEL_ANSWER_CHARACTERS_MAX,
  MODEL_QUESTIONS_MAX,
  MODEL_QUESTIONS_WAITING_MAX,
} from '../../protocol/base/model-limits.js';
import { type Failure, fail, failed, failure, ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Log, Scheduler } from '../../protocol/base/seams.js';
import { excerpt } from '../../protocol/base/utf8.js';
import type { Store } from '../../storage/port.js';
import type { Settings } from '../config/settings.js';
import { answerForm } from './answer-form.js';
import type { ChatClient, ChatOutcome } from './chat-client.js';
import type { ChatAnswer, ChatMessage } from './chat-shapes.js';
import { type ChatTarget, chatTarget, type ModelSettings } from './chat-target.js';
import { DATA_RULE, withoutFences } from './data-blocks.js';
import { Ending, endedAs } from './ending.js';
import { type ModelFeature, type ModelSection, sectionOf } from './features.js';
import { type ModelCall, ModelMeter } from './model-meter.js';
import type { AnswerRead, AskLimits, ModelState, Models, ModelsState, Question } from './models.js';
import { Turns } from './turns.js';

export interface ModelsParts {
  readonly settings: ModelSettings & Pick<Settings, 'llmCallTimeoutMs' | 'llmCallsPerDay'>;
  readonly store: Pick<Store, 'execute'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** Hears of each request that was sent. */
  readonly onCall?: (feature: ModelFeature, call: ModelCall) => void;
}

/** What a model sees of its own answer when it is asked again. */
const EXCERPT_BYTES_MAX = 2048;
const CUT = 'it was cut off because it is too long: answer in fewer words.';

/** Opens the chat models of the settings. It contacts none of them; the first question loads the HTTP client. */
export const openModels = (parts: ModelsParts): Models => new NodeModels(parts);

class NodeModels implements Models {
  readonly #parts: ModelsParts;
  readonly #targets: Readonly<Record<ModelSection, ChatTarget | string>>;
  readonly #clients = new Map<ModelSection, Promise<ChatClient>>();
  /** Clients that were made, for what they know of their service. */
  readonly #made = new Map<ModelSection, ChatClient>();
  readonly #turns = new Turns({ asking: MODEL_QUESTIONS_MAX, waiting: MODEL_QUESTIONS_WAITING_MAX });
  readonly #meter: ModelMeter;
  readonly #asking = new Set<Ending>();
  readonly #ends = new Set<Promise<unknown>>();
  #closed = false;

  constructor(parts: ModelsParts) {
    const { settings, store, log, onCall = () => undefined } = parts;
    this.#parts = parts;
    this.#targets = {
      llm: chatTarget('llm', settings),
      'llm.auto_tag': chatTarget('llm.auto_tag', settings),
    };
    this.#meter = new ModelMeter(store, log, settings.llmCallsPerDay, onCall);
  }

  missing(feature: ModelFeature): Failure | null {
    const target = this.#targets[sectionOf(feature)];
    if (typeof target !== 'string') return null;
    return failure('LLM_UNAVAILABLE', `no chat model is configured for ${feature}: ${target}`);
  }

  async ask<T>(question: Question<T>, limits: AskLimits): Promise<Result<T>> {
    const section = sectionOf(question.feature);
    const target = this.#targets[section];
    if (typeof target === 'string') return failed(this.missing(question.feature)!);
    if (this.#closed) return fail('SHUTTING_DOWN', 'the node is shutting down');
    const { clock, scheduler } = this.#parts;
    const ending = new Ending(limits, clock, scheduler);
    this.#asking.add(ending);
    const asked = this.#askInTurn(question, section, target, ending);
    this.#ends.add(asked);
    try {
      return await asked;
    } finally {
      this.#ends.delete(asked);
      this.#asking.delete(ending);
      ending.settle();
    }
  }

  state(): ModelsState {
    const models: Partial<Record<ModelSection, ModelState>> = {};
    for (const target of Object.values(this.#targets)) {
      if (typeof target === 'string') continue;
      const { section, backend, model, baseUrl } = target;
      const lastError = this.#made.get(section)?.lastError ?? null;
      models[section] = { section, backend, model, host: baseUrl.host, lastError };
    }
    return { models, asking: this.#turns.taken, waiting: this.#turns.waiting };
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const ending of this.#asking) ending.end('closing');
    await Promise.allSettled([...this.#ends]);
    for (const client of this.#made.values()) await client.close();
  }

  async #askInTurn<T>(
    question: Question<T>,
    section: ModelSection,
    target: ChatTarget,
    ending: Ending,
  ): Promise<Result<T>> {
    const turn = await this.#turns.enter(ending);
    if (turn === 'full') {
      return fail('OVERLOADED', `${MODEL_QUESTIONS_WAITING_MAX} questions wait for the chat model`);
    }
    if (turn === 'ended') return endedAs(ending.reason!);
    try {
      return await this.#askTwice(question, await this.#clientOf(section, target), ending);
    } finally {
      this.#turns.leave();
    }
  }

  async #askTwice<T>(question: Question<T>, client: ChatClient, ending: Ending): Promise<Result<T>> {
    const { system, prompt } = question;
    const messages: ChatMessage[] = [
      { role: 'system', content: `${system}\n\n${DATA_RULE}` },
      { role: 'user', content: prompt },
    ];
    const first = await this.#send(question, messages, client, ending);
    if (!first.ok) return failed(first.error);
    const { read, text } = first.value;
    if (read.ok) return ok(read.value);
    const content = `Your answer cannot be used: ${read.problem} Answer once more, in the form that was asked for.`;
    const again = await this.#send(
      question,
      [
        ...messages,
        { role: 'assistant', content: excerpt(text, EXCERPT_BYTES_MAX) },
        { role: 'user', content },
      ],
      client,
      ending,
    );
    if (!again.ok) return failed(again.error);
    const { read: second } = again.value;
    return second.ok
      ? ok(second.value)
      : fail('LLM_FAILED', `the answer of the chat model cannot be used: ${second.problem}`);
  }

  /** Sends messages, and once more after a pause that the service asks for and the deadline allows. */
  async #send<T>(
    question: Question<T>,
    messages: readonly ChatMessage[],
    client: ChatClient,
    ending: Ending,
  ): Promise<Result<{ readonly read: AnswerRead<T>; readonly text: string }>> {
    const { clock, scheduler } = this.#parts;
    const first = await this.#sendOnce(question, messages, client, ending);
    if (first.kind !== 'pause') return first.result;
    if (clock.monotonicMs() + first.restMs >= ending.deadlineMs) return first.result;
    await ending.wait(first.restMs, scheduler);
    if (ending.reason !== null) return endedAs(ending.reason);
    return (await this.#sendOnce(question, messages, client, ending)).result;
  }

  async #sendOnce<T>(
    question: Question<T>,
    messages: readonly ChatMessage[],
    client: ChatClient,
    ending: Ending,
  ): Promise<Sent<T>> {
    const { feature, maxTokens, read } = question;
    const refusal = client.refusal();
    if (refusal !== null) return { kind: 'done', result: refusal };
    const begun = await this.#meter.begin(feature).catch((error) => {
      client.unsent();
      throw error;
    });
    if (!begun.ok || ending.reason !== null) {
      client.unsent();
      return { kind: 'done', result: begun.ok ? endedAs(ending.reason!) : failed(begun.error) };
    }
    const startMs = this.#parts.clock.monotonicMs();
    const outcome = await client.send({ messages, form: answerForm(read.schema), maxTokens }, ending);
    const sent = readOutcome(question, outcome);
    const answer = outcome.result.ok ? outcome.result.value : null;
    await this.#meter.end(feature, begun.value.day, {
      failed: !sent.result.ok || !sent.result.value.read.ok,
      tokensIn: answer?.tokensIn ?? 0,
      tokensOut: answer?.tokensOut ?? 0,
      ms: this.#parts.clock.monotonicMs() - startMs,
    });
    return sent;
  }

  /** The HTTP client is expensive to load, and few nodes need it. */
  #clientOf(section: ModelSection, target: ChatTarget): Promise<ChatClient> {
    const known = this.#clients.get(section);
    if (known !== undefined) return known;
    const { clock, scheduler, log, settings } = this.#parts;
    const parts = { clock, scheduler, log, timeoutMs: settings.llmCallTimeoutMs };
    const made = import('./chat-client.js').then((module) => {
      const client = new module.ChatClient(target, parts);
      this.#made.set(section, client);
      return client;
    });
    this.#clients.set(section, made);
    return made;
  }
}

type Read<T> = Result<{ readonly read: AnswerRead<T>; readonly text: string }>;
type Sent<T> =
  | { readonly kind: 'done'; readonly result: Read<T> }
  | { readonly kind: 'pause'; readonly restMs: number; readonly result: Result<never> };

function readOutcome<T>(question: Question<T>, outcome: ChatOutcome): Sent<T> {
  if (outcome.kind === 'pause') return outcome;
  const { result } = outcome;
  if (!result.ok) return { kind: 'done', result: failed(result.error) };
  return { kind: 'done', result: ok({ read: readText(question, result.value), text: result.value.text }) };
}

function readText<T>(question: Question<T>, { text: said, isCut }: ChatAnswer): AnswerRead<T> {
  if (isCut) return { ok: false, problem: CUT };
  const text = withoutFences(said);
  if (text === '') return { ok: false, problem: 'it is empty.' };
  if (text.length > MODEL_ANSWER_CHARACTERS_MAX) {
    return { ok: false, problem: `it is longer than ${MODEL_ANSWER_CHARACTERS_MAX} characters.` };
  }
  return question.read(text);
}
