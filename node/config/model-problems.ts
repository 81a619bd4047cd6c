import type { ConfigProblem } from './config-problem.js';
import type { Settings } from './settings.js';

type ModelSettings = Pick<
  Settings,
  | 'embedBackend'
  | 'embedBaseUrl'
  | 'llmBackend'
  | 'llmBaseUrl'
  | 'llmModel'
  | 'autoTagBackend'
  | 'autoTagBaseUrl'
  | 'rerankerEnabled'
  | 'rerankerBaseUrl'
>;

/** What is wrong with the settings of models together. */
export function modelProblems(settings: ModelSettings): ConfigProblem[] {
  const { embedBackend, embedBaseUrl, llmBackend, llmBaseUrl, autoTagBackend, autoTagBaseUrl } = settings;
  const inherited = autoTagBackend === llmBackend ? llmBaseUrl : null;
  return [
    ...withoutAddress('embeddings', embedBackend, embedBaseUrl),
    ...withoutAddress('llm', llmBackend, llmBaseUrl),
    ...withoutAddress('llm.auto_tag', autoTagBackend, autoTagBaseUrl ?? inherited),
    ...unused(settings),
    ...withoutService(settings),
  ];
}

function withoutAddress(section: string, backend: string | null, url: string | null): ConfigProblem[] {
  if ((backend !== 'compatible' && backend !== 'openai-compatible') || url !== null) return [];
  return [
    {
      code: 'CONFIG_VALUE_INVALID',
      level: 'fatal',
      message: `${section}.backend = "${backend}" needs ${section}.base_url`,
      fix: `set ${section}.base_url`,
    },
  ];
}

/** A model is asked only where a backend says how. */
function unused({ llmBackend, llmBaseUrl, llmModel }: ModelSettings): ConfigProblem[] {
  const name = llmBaseUrl !== null ? 'llm.base_url' : llmModel !== null ? 'llm.model' : null;
  if (llmBackend !== null || name === null) return [];
  return [
    {
      code: 'CONFIG_MODEL_WITHOUT_BACKEND',
      level: 'warning',
      message: `${name} is set without llm.backend, so no chat model is asked`,
      fix: 'set llm.backend, for example to local-native, or remove it',
    },
  ];
}

/** An enabled reranker without an address reorders nothing, and an address alone enables none. */
function withoutService({ rerankerEnabled, rerankerBaseUrl }: ModelSettings): ConfigProblem[] {
  if (rerankerEnabled === (rerankerBaseUrl !== null)) return [];
  const [given, missing] = rerankerEnabled
    ? ['reranker.enabled', 'reranker.base_url']
    : ['reranker.base_url', 'reranker.enabled'];
  return [
    {
      code: 'CONFIG_RERANKER_INCOMPLETE',
      level: 'warning',
      message: `${given} is set without ${missing}, so no reranker is asked`,
      fix: `set ${missing}, or remove ${given}`,
    },
  ];
}
