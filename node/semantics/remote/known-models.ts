/** What is known of a model by its name. */
export interface KnownModel {
  readonly dim: number;
  /** Tokens that it reads of one text; more are cut off or refused. */
  readonly tokens: number;
  /** What its makers put before a question and before a text, so that both meet. */
  readonly prefixes: Prefixes;
}

export interface Prefixes {
  readonly query: string;
  readonly text: string;
}

export const NO_PREFIXES: Prefixes = { query: '', text: '' };
const E5: Prefixes = { query: 'query: ', text: 'passage: ' };
const NOMIC: Prefixes = { query: 'search_query: ', text: 'search_document: ' };
const ARCTIC: Prefixes = { query: 'query: ', text: '' };
const GEMMA: Prefixes = { query: 'task: search result | query: ', text: 'title: none | text: ' };
const E5_INSTRUCT: Prefixes = {
  query: 'Instruct: Given a question, retrieve the notes that answer it\nQuery: ',
  text: '',
};

/** The table of dimensions (interface §2.12, `dim`), by the last part of a name without its tag. */
const MODELS: Readonly<Record<string, KnownModel>> = {
  'all-minilm': known(384, 256),
  'all-minilm-l6-v2': known(384, 256),
  'all-minilm-l12-v2': known(384, 128),
  mini_lm_l6_v2: known(384, 256),
  'all-mpnet-base-v2': known(768, 384),
  'paraphrase-multilingual': known(768, 128),
  'paraphrase-multilingual-minilm-l12-v2': known(384, 128),
  'paraphrase-multilingual-mpnet-base-v2': known(768, 128),
  'nomic-embed-text': known(768, 2048, NOMIC),
  'nomic-embed-text-v1': known(768, 2048, NOMIC),
  'nomic-embed-text-v1.5': known(768, 2048, NOMIC),
  'text-embedding-nomic-embed-text-v1.5': known(768, 2048, NOMIC),
  nomic_embed_v15: known(768, 2048, NOMIC),
  'nomic-embed-text-v2-moe': known(768, 512, NOMIC),
  'mxbai-embed-large': known(1024, 512),
  'bge-small-en-v1.5': known(384, 512),
  'bge-base-en-v1.5': known(768, 512),
  'bge-large-en-v1.5': known(1024, 512),
  'bge-m3': known(1024, 8192),
  'snowflake-arctic-embed2': known(1024, 8192, ARCTIC),
  'snowflake-arctic-embed-l-v2.0': known(1024, 8192, ARCTIC),
  embeddinggemma: known(768, 2048, GEMMA),
  'embeddinggemma-300m': known(768, 2048, GEMMA),
  'multilingual-e5-small': known(384, 512, E5),
  'multilingual-e5-base': known(768, 512, E5),
  'multilingual-e5-large': known(1024, 512, E5),
  'multilingual-e5-large-instruct': known(1024, 512, E5_INSTRUCT),
  'e5-small-v2': known(384, 512, E5),
  'e5-base-v2': known(768, 512, E5),
  'e5-large-v2': known(1024, 512, E5),
  'qwen3-embedding-0.6b': known(1024, 8192, E5_INSTRUCT),
  'qwen3-embedding-4b': known(2560, 8192, E5_INSTRUCT),
  'qwen3-embedding-8b': known(4096, 8192, E5_INSTRUCT),
  'text-embedding-v3': known(1024, 8192),
  'text-embedding-v4': known(1024, 8192),
  'text-embedding-3-small': known(1536, 8191),
  'text-embedding-3-large': known(3072, 8191),
  'text-embedding-ada-002': known(1536, 8191),
  'gemini-embedding-001': known(3072, 2048),
  'mistral-embed': known(1024, 8192),
};

/** What is known of a model; null for an unknown one. Organisation and tag of the name do not count. */
export function knownModel(name: string): KnownModel | null {
  const last = name.trim().toLowerCase().split('/').at(-1)!;
  const [base, tag] = last.split(':');
  return MODELS[`${base}-${tag}`] ?? MODELS[base!] ?? null;
}

function known(dim: number, tokens: number, prefixes: Prefixes = NO_PREFIXES): KnownModel {
  return { dim, tokens, prefixes };
}
