/** How a service is asked (interface §2.12, "Backends"). */
export type WireShapeName = 'local-native' | 'compatible';

/** A vendor, or a program for models on one's own machine. */
export interface ModelVendor {
  readonly shape: WireShapeName;
  readonly baseUrl: string;
  /** The variables in which the vendor's own tools expect the key, first found first; none for a service without a key. */
  readonly keyVariables: readonly string[];
  /** The chat model that is asked when none is configured; null for a vendor that must be told. */
  readonly chatModel: string | null;
  /** The embedding model that is asked when none is configured; null for a vendor that must be told. */
  readonly embedModel: string | null;
  /** What its chat endpoint takes of the members that bound and shape an answer. */
  readonly takes: ChatMembers;
}

export interface ChatMembers {
  /** The name of the cap of an answer. Where thinking counts towards it, it is raised. */
  readonly cap: 'max_tokens' | 'max_completion_tokens';
  /** Whether an answer in JSON can be asked for. */
  readonly json: boolean;
}

const USUAL: ChatMembers = { cap: 'max_tokens', json: true };

interface More {
  readonly embedModel?: string;
  readonly shape?: WireShapeName;
  readonly takes?: ChatMembers;
}

const vendor = (
  baseUrl: string,
  keyVariables: readonly string[],
  chatModel: string | null,
  { embedModel, shape = 'compatible', takes = USUAL }: More = {},
): ModelVendor => ({ shape, baseUrl, keyVariables, chatModel, embedModel: embedModel ?? null, takes });

const MOONSHOT = vendor('https://api.moonshot.cn/v1', ['MOONSHOT_API_KEY', 'KIMI_API_KEY'], 'moonshot-v1-8k');
const DASHSCOPE = vendor(
  'https://dashscope.aliyuncs.com/compatible-mode/v1',
  ['DASHSCOPE_API_KEY', 'QWEN_API_KEY'],
  'qwen-max',
  { embedModel: 'text-embedding-v4' },
);

/** The aliases of `llm.backend` and of `embeddings.backend`; each selects a shape and fills in the base URL. */
export const MODEL_VENDORS = {
  ollama: vendor('http://localhost:11434', [], 'gemma3:4b', {
    embedModel: 'nomic-embed-text',
    shape: 'local-native',
  }),
  openai: vendor('https://api.openai.com/v1', ['OPENAI_API_KEY'], 'gpt-5', {
    embedModel: 'text-embedding-3-small',
    takes: { cap: 'max_completion_tokens', json: true },
  }),
  xai: vendor('https://api.x.ai/v1', ['XAI_API_KEY'], 'grok-4.3'),
  anthropic: vendor('https://api.anthropic.com/v1', ['ANTHROPIC_API_KEY'], 'claude-opus-4.7', {
    takes: { cap: 'max_tokens', json: false },
  }),
  gemini: vendor(
    'https://generativelanguage.googleapis.com/v1beta/openai',
    ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    'gemini-2.0-flash',
    { embedModel: 'gemini-embedding-001' },
  ),
  deepseek: vendor('https://api.deepseek.com/v1', ['DEEPSEEK_API_KEY'], 'deepseek-chat'),
  kimi: MOONSHOT,
  moonshot: MOONSHOT,
  qwen: DASHSCOPE,
  dashscope: DASHSCOPE,
  mistral: vendor('https://api.mistral.ai/v1', ['MISTRAL_API_KEY'], 'mistral-large-latest', {
    embedModel: 'mistral-embed',
  }),
  groq: vendor('https://api.groq.com/openai/v1', ['GROQ_API_KEY'], 'llama-3.3-70b-versatile'),
  together: vendor(
    'https://api.together.xyz/v1',
    ['TOGETHER_API_KEY'],
    'meta-llama/Llama-3.3-70B-Instruct-Turbo',
    { embedModel: 'intfloat/multilingual-e5-large-instruct' },
  ),
  cerebras: vendor('https://api.cerebras.ai/v1', ['CEREBRAS_API_KEY'], 'llama-3.3-70b'),
  openrouter: vendor('https://openrouter.ai/api/v1', ['OPENROUTER_API_KEY'], 'openai/gpt-5', {
    embedModel: 'openai/text-embedding-3-small',
  }),
  fireworks: vendor(
    'https://api.fireworks.ai/inference/v1',
    ['FIREWORKS_API_KEY'],
    'accounts/fireworks/models/llama-v3p3-70b-instruct',
    { embedModel: 'nomic-ai/nomic-embed-text-v1.5' },
  ),
  lmstudio: vendor('http://localhost:1234/v1', [], 'local-model', {
    embedModel: 'text-embedding-nomic-embed-text-v1.5',
    takes: { cap: 'max_tokens', json: false },
  }),
  vllm: vendor('http://localhost:8000/v1', [], null),
} as const satisfies Readonly<Record<string, ModelVendor>>;

export type ModelAlias = keyof typeof MODEL_VENDORS;

export const MODEL_ALIASES = Object.keys(MODEL_VENDORS) as ModelAlias[];

/** A service that speaks the compatible shape and of which nothing is known. */
export const ANY_COMPATIBLE = { chatModel: 'gemma3:4b', takes: USUAL } as const;

/** The vendor of a backend; null for a backend that is no alias. */
export function vendorOf(backend: string): ModelVendor | null {
  return Object.hasOwn(MODEL_VENDORS, backend) ? MODEL_VENDORS[backend as ModelAlias] : null;
}
