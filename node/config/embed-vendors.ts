/** A vendor whose service speaks the compatible shape (interface §2.12, "Backends"). */
export interface EmbedVendor {
  readonly baseUrl: string;
  /** The variable in which the vendor's own tools expect the key; null for a service without a key. */
  readonly keyVariable: string | null;
  /** What is asked when no model is configured; null for a vendor that must be told. */
  readonly model: string | null;
}

/** The aliases of `embeddings.backend`; each selects the compatible shape and fills in the base URL. */
export const EMBED_VENDORS = {
  openai: vendor('https://api.openai.com/v1', 'OPENAI_API_KEY', 'text-embedding-3-small'),
  xai: vendor('https://api.x.ai/v1', 'XAI_API_KEY', null),
  anthropic: vendor('https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY', null),
  gemini: vendor(
    'https://generativelanguage.googleapis.com/v1beta/openai',
    'GEMINI_API_KEY',
    'gemini-embedding-001',
  ),
  deepseek: vendor('https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY', null),
  kimi: vendor('https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY', null),
  qwen: vendor(
    'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    'DASHSCOPE_API_KEY',
    'text-embedding-v4',
  ),
  mistral: vendor('https://api.mistral.ai/v1', 'MISTRAL_API_KEY', 'mistral-embed'),
  groq: vendor('https://api.groq.com/openai/v1', 'GROQ_API_KEY', null),
  together: vendor(
    'https://api.together.xyz/v1',
    'TOGETHER_API_KEY',
    'intfloat/multilingual-e5-large-instruct',
  ),
  cerebras: vendor('https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY', null),
  openrouter: vendor('https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY', 'openai/text-embedding-3-small'),
  fireworks: vendor(
    'https://api.fireworks.ai/inference/v1',
    'FIREWORKS_API_KEY',
    'nomic-ai/nomic-embed-text-v1.5',
  ),
  lmstudio: vendor('http://localhost:1234/v1', null, 'text-embedding-nomic-embed-text-v1.5'),
} as const satisfies Readonly<Record<string, EmbedVendor>>;

export type EmbedAlias = keyof typeof EMBED_VENDORS;

export const EMBED_ALIASES = Object.keys(EMBED_VENDORS) as EmbedAlias[];

/** The vendor of a backend; null for a backend that is no alias. */
export function vendorOf(backend: string): EmbedVendor | null {
  return Object.hasOwn(EMBED_VENDORS, backend) ? EMBED_VENDORS[backend as EmbedAlias] : null;
}

function vendor(baseUrl: string, keyVariable: string | null, model: string | null): EmbedVendor {
  return { baseUrl, keyVariable, model };
}
