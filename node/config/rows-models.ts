import { EMBED_BATCH_MAX } from '../../protocol/base/limits.js';
import {
  MODEL_CALL_TIMEOUT_MS,
  MODEL_CALLS_PER_DAY,
  RERANK_TIMEOUT_MS,
} from '../../protocol/base/model-limits.js';
import { MODEL_ALIASES } from './model-vendors.js';
import type { SettingRows } from './setting-row.js';

/** Selectors of a chat model (interface §2.12, "Backends"). */
const LLM_BACKENDS = ['none', 'local-native', 'compatible', 'openai-compatible', ...MODEL_ALIASES] as const;
const ONE_OF_THEM = "local-native, compatible, none, or a vendor's name";

/** What is wrong with a base URL; it may hold a password, so it is never quoted. */
function urlProblem(text: string): string | null {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'must be an http or https URL';
  }
  if (!['http:', 'https:'].includes(url.protocol)) return 'must be an http or https URL';
  if (url.username !== '' || url.password !== '') return 'must not hold a user or a password';
  return null;
}

/** The models that a node may call, and where their keys are (interface §2.12). */
export const MODEL_ROWS = {
  embedBaseUrl: {
    type: 'text',
    default: null,
    check: urlProblem,
    env: 'SVC_EMBED_BASE_URL',
    config: 'embeddings.base_url',
    configAlias: 'embeddings.url',
    legacy: 'embed_url',
    doc: 'Endpoint of a remote embedder; base_url overrides url. The compatible shape adds /v1 to an address without a path.',
  },
  embedModel: {
    type: 'text',
    default: null,
    env: 'SVC_EMBED_MODEL',
    config: 'embeddings.model',
    legacy: 'embedding_model',
    doc: 'Model of a remote embedder, passed through as it is.',
  },
  embedDim: {
    type: 'integer',
    default: null,
    min: 1,
    max: 65_536,
    config: 'embeddings.dim',
    doc: 'Vector dimension of a model that is not in the built-in table; an answer of another dimension is refused.',
  },
  embedApiKey: {
    type: 'secret',
    default: null,
    env: 'SVC_EMBED_API_KEY',
    secretSection: 'embeddings',
    doc: 'Key of a remote embedder; the variable of a vendor comes after this one.',
  },
  embedBackfillBatch: {
    type: 'integer',
    default: EMBED_BATCH_MAX,
    unit: 'rows',
    min: 1,
    max: 10_000,
    env: 'SVC_EMBED_BACKFILL_BATCH',
    config: 'embeddings.backfill_batch',
    doc: 'Rows that the background embedding takes at a time.',
  },
  embedModelFolder: {
    type: 'path',
    default: null,
    env: 'SVC_EMBED_MODEL_FOLDER',
    config: 'embeddings.model_folder',
    doc: 'Folder of a model for the backend onnx: model.onnx, tokenizer.json and config.json.',
  },
  llmBackend: {
    type: 'text',
    default: null,
    oneOf: LLM_BACKENDS,
    env: 'SVC_LLM_BACKEND',
    config: 'llm.backend',
    doc: `Chat model: ${ONE_OF_THEM}. Without one, nothing is sent to a model.`,
  },
  llmBaseUrl: {
    type: 'text',
    default: null,
    check: urlProblem,
    env: 'SVC_LLM_BASE_URL',
    config: 'llm.base_url',
    legacy: 'ollama_url',
    doc: 'Endpoint of the chat model; overrides the address of the vendor. The compatible shape adds /v1 to an address without a path.',
  },
  llmModel: {
    type: 'text',
    default: null,
    defaultDoc: 'that of the vendor',
    env: 'SVC_LLM_MODEL',
    config: 'llm.model',
    legacy: 'llm_model',
    doc: 'Name of the chat model, passed through as it is.',
  },
  llmApiKey: {
    type: 'secret',
    default: null,
    env: 'SVC_LLM_API_KEY',
    secretSection: 'llm',
    doc: 'Key of the chat model; the variables of its vendor come after this one and before the section.',
  },
  autoTagBackend: {
    type: 'text',
    default: null,
    defaultDoc: 'as [llm]',
    oneOf: LLM_BACKENDS,
    config: 'llm.auto_tag.backend',
    doc: `Model for tags, query expansion and contradictions: ${ONE_OF_THEM}.`,
  },
  autoTagBaseUrl: {
    type: 'text',
    default: null,
    defaultDoc: 'as [llm]',
    check: urlProblem,
    config: 'llm.auto_tag.base_url',
    doc: 'Endpoint of that model.',
  },
  autoTagModel: {
    type: 'text',
    default: null,
    defaultDoc: 'as [llm]',
    config: 'llm.auto_tag.model',
    legacy: 'auto_tag_model',
    doc: 'Name of that model.',
  },
  autoTagApiKey: {
    type: 'secret',
    default: null,
    defaultDoc: 'as [llm], for the same host only',
    secretSection: 'llm.auto_tag',
    doc: 'Key of that model; the variables of its vendor come before the section.',
  },
  llmCallTimeoutMs: {
    type: 'integer',
    default: MODEL_CALL_TIMEOUT_MS / 1000,
    unit: 's',
    min: 1,
    max: 600,
    convert: (seconds: number) => seconds * 1000,
    config: 'llm_call_timeout_secs',
    doc: 'A request to a chat model that takes longer is given up.',
  },
  llmCallsPerDay: {
    type: 'integer',
    default: MODEL_CALLS_PER_DAY,
    unit: 'requests',
    min: 0,
    max: 1_000_000_000,
    env: 'SVC_LLM_MAX_CALLS_PER_DAY',
    config: 'llm.max_calls_per_day',
    doc: 'Requests to chat models that this database permits in a day (UTC); 0 permits any number.',
  },
  autonomousHooks: {
    type: 'boolean',
    default: false,
    env: 'SVC_AUTONOMOUS_HOOKS',
    config: 'autonomous_hooks',
    doc: 'Have the model tag memories after their store, as a job in the background; the answer of a store that is left out says why.',
  },
  rerankerEnabled: {
    type: 'boolean',
    default: false,
    env: 'SVC_RERANK_ENABLED',
    config: 'reranker.enabled',
    legacy: 'cross_encoder',
    doc: 'Have a cross encoder order the first 20 rows that recall found; needs reranker.base_url.',
  },
  rerankerBaseUrl: {
    type: 'text',
    default: null,
    check: urlProblem,
    env: 'SVC_RERANK_BASE_URL',
    config: 'reranker.base_url',
    doc: 'Service that answers POST /rerank in the compatible shape. /v1 is added to an address without a path.',
  },
  rerankerModel: {
    type: 'text',
    default: 'ms-marco-MiniLM-L-6-v2',
    env: 'SVC_RERANK_MODEL',
    config: 'reranker.model',
    doc: 'Model of the reranker, passed through as it is.',
  },
  rerankerApiKey: {
    type: 'secret',
    default: null,
    env: 'SVC_RERANK_API_KEY',
    secretSection: 'reranker',
    doc: 'Key of the reranker.',
  },
  rerankerTimeoutMs: {
    type: 'integer',
    default: RERANK_TIMEOUT_MS,
    unit: 'ms',
    min: 50,
    max: 30_000,
    env: 'SVC_RERANK_TIMEOUT_MS',
    config: 'reranker.timeout_ms',
    doc: 'A recall waits so long for the reranker, then answers in its own order.',
  },
} as const satisfies SettingRows;
