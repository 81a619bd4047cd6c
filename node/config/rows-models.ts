import type { SettingRow } from './settings.js';

const LATER = 'Validated now, read when remote models come.';
/** Selectors of the chat model (interface §2.12, "Backends"). */
const LLM_BACKENDS = ['none', 'local-native', 'compatible'];

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
export const MODEL_ROWS: readonly SettingRow[] = [
  {
    key: 'embedBaseUrl',
    env: 'SVC_EMBED_BASE_URL',
    config: 'embeddings.base_url',
    configAlias: 'embeddings.url',
    legacy: 'embed_url',
    type: 'text',
    check: urlProblem,
    doc: `Endpoint of a remote embedder; base_url goes before url. ${LATER}`,
  },
  {
    key: 'embedModel',
    env: 'SVC_EMBED_MODEL',
    config: 'embeddings.model',
    legacy: 'embedding_model',
    type: 'text',
    doc: `Model of a remote embedder, passed through as it is. ${LATER}`,
  },
  {
    key: 'embedDim',
    config: 'embeddings.dim',
    type: 'integer',
    min: 1,
    max: 65_536,
    doc: `Vector dimension of a model that is not in the built-in table. ${LATER}`,
  },
  {
    key: 'embedApiKey',
    env: 'SVC_EMBED_API_KEY',
    secretSection: 'embeddings',
    type: 'secret',
    doc: `Key of a remote embedder. ${LATER}`,
  },
  {
    key: 'embedBackfillBatch',
    env: 'SVC_EMBED_BACKFILL_BATCH',
    config: 'embeddings.backfill_batch',
    type: 'integer',
    unit: 'rows',
    min: 1,
    max: 10_000,
    doc: 'Rows that the background embedding takes at a time; a query waits behind one batch.',
  },
  {
    key: 'llmBackend',
    env: 'SVC_LLM_BACKEND',
    config: 'llm.backend',
    type: 'text',
    oneOf: LLM_BACKENDS,
    doc: `Chat model: local-native, compatible or none. ${LATER}`,
  },
  {
    key: 'llmBaseUrl',
    env: 'SVC_LLM_BASE_URL',
    config: 'llm.base_url',
    legacy: 'ollama_url',
    type: 'text',
    check: urlProblem,
    doc: `Endpoint of the chat model. ${LATER}`,
  },
  {
    key: 'llmModel',
    env: 'SVC_LLM_MODEL',
    config: 'llm.model',
    legacy: 'llm_model',
    type: 'text',
    doc: `Name of the chat model, passed through as it is. ${LATER}`,
  },
  {
    key: 'llmApiKey',
    env: 'SVC_LLM_API_KEY',
    secretSection: 'llm',
    type: 'secret',
    doc: `Key of the chat model. ${LATER}`,
  },
  {
    key: 'autoTagBackend',
    config: 'llm.auto_tag.backend',
    type: 'text',
    oneOf: LLM_BACKENDS,
    defaultDoc: 'as [llm]',
    doc: `Model for tags, query expansion and contradictions. ${LATER}`,
  },
  {
    key: 'autoTagBaseUrl',
    config: 'llm.auto_tag.base_url',
    type: 'text',
    check: urlProblem,
    defaultDoc: 'as [llm]',
    doc: `Endpoint of that model. ${LATER}`,
  },
  {
    key: 'autoTagModel',
    config: 'llm.auto_tag.model',
    legacy: 'auto_tag_model',
    type: 'text',
    defaultDoc: 'as [llm]',
    doc: `Name of that model. ${LATER}`,
  },
  {
    key: 'autoTagApiKey',
    secretSection: 'llm.auto_tag',
    type: 'secret',
    defaultDoc: 'as [llm]',
    doc: `Key of that model. ${LATER}`,
  },
  {
    key: 'rerankerEnabled',
    config: 'reranker.enabled',
    legacy: 'cross_encoder',
    type: 'boolean',
    doc: `Rerank what recall found with a cross encoder. ${LATER}`,
  },
  {
    key: 'rerankerModel',
    config: 'reranker.model',
    type: 'text',
    doc: `Model of the reranker. ${LATER}`,
  },
];
