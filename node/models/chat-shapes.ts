import { z } from 'zod';
import type { ChatMembers, WireShapeName } from '../config/model-vendors.js';
import { under } from '../outbound/under.js';
import type { AnswerForm } from './answer-form.js';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** One request to a chat model. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** The form of an answer in JSON; null for an answer in plain text. */
  readonly form: AnswerForm | null;
  readonly maxTokens: number;
}

export interface ChatAnswer {
  readonly text: string;
  /** True for an answer that ended at the cap of tokens. */
  readonly isCut: boolean;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

/** How a service is asked (interface §2.12, "Backends"). */
export interface ChatShape {
  /** The address of the endpoint under a base URL. */
  readonly endpoint: (base: URL) => URL;
  readonly body: (request: ChatRequest, takes: ChatMembers) => object;
  /** Null for an answer of another shape. */
  readonly answer: (parsed: unknown) => ChatAnswer | null;
}

/** What a service counts; a figure that cannot be right counts for nothing. */
const count = z.int().min(0).max(1_000_000_000).catch(0);

const nativeAnswer = z.object({
  message: z.object({ content: z.string() }),
  done_reason: z.string().nullish(),
  prompt_eval_count: count,
  eval_count: count,
});

const compatibleAnswer = z.object({
  // Only the first is looked at, however many a service sends.
  choices: z
    .custom<readonly unknown[]>(Array.isArray)
    .transform(([first]) => first)
    .pipe(z.object({ message: z.object({ content: z.string() }), finish_reason: z.string().nullish() })),
  usage: z.object({ prompt_tokens: count, completion_tokens: count }).catch({
    prompt_tokens: 0,
    completion_tokens: 0,
  }),
});

/** `POST /api/chat`, without authentication. */
const LOCAL_NATIVE: ChatShape = {
  endpoint: (base) => under(base, '/api/chat', ''),
  body: ({ model, messages, form, maxTokens }) => ({
    ...{ model, messages, stream: false },
    ...(form === null ? {} : { format: form }),
    options: { num_predict: maxTokens, temperature: 0 },
  }),
  answer: (parsed) => {
    const read = nativeAnswer.safeParse(parsed);
    if (!read.success) return null;
    const { message, done_reason, prompt_eval_count: tokensIn, eval_count: tokensOut } = read.data;
    return { text: withoutThoughts(message.content), isCut: done_reason === 'length', tokensIn, tokensOut };
  },
};

/** What a model may think before it answers, where that counts towards the cap. */
const THOUGHT_TOKENS = 4096;

/** `POST /v1/chat/completions` with a bearer key. A base URL that has a path already says where the version is. */
const COMPATIBLE: ChatShape = {
  endpoint: (base) => under(base, '/chat/completions', '/v1'),
  body: ({ model, messages, form, maxTokens }, takes) => ({
    ...{ model, messages, stream: false },
    [takes.cap]: takes.cap === 'max_tokens' ? maxTokens : maxTokens + THOUGHT_TOKENS,
    ...(form !== null && takes.json ? { response_format: { type: 'json_object' } } : {}),
  }),
  answer: (parsed) => {
    const read = compatibleAnswer.safeParse(parsed);
    if (!read.success) return null;
    const { choices, usage } = read.data;
    const { message, finish_reason } = choices;
    return {
      text: withoutThoughts(message.content),
      isCut: finish_reason === 'length',
      tokensIn: usage.prompt_tokens,
      tokensOut: usage.completion_tokens,
    };
  },
};

export const CHAT_SHAPES: Readonly<Record<WireShapeName, ChatShape>> = {
  'local-native': LOCAL_NATIVE,
  compatible: COMPATIBLE,
};

/** Some models write what they think before their answer. */
function withoutThoughts(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith('<think>')) return trimmed;
  const end = trimmed.indexOf('</think>');
  return end === -1 ? '' : trimmed.slice(end + '</think>'.length).trim();
}
