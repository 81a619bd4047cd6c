import type { Scheduler } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { ModelUse } from '../../protocol/models/model-use.js';
import type { Secret } from '../config/secret.js';
import type { Settings } from '../config/settings.js';
import { shownUrl } from '../config/shown-url.js';
import { stderrLog } from '../log.js';
import { chatTarget } from '../models/chat-target.js';
import { under } from '../outbound/under.js';
import { systemClock } from '../seams.js';
import { openEmbedder, remoteTarget } from '../semantics/open-embedder.js';
import { openReranker } from '../semantics/reranker/open-reranker.js';
import type { ContentFacts } from './database-facts.js';
import { httpGet } from './http-get.js';
import { type Section, SectionBuilder } from './report.js';

interface Model {
  readonly code: string;
  readonly isNative: boolean;
  readonly baseUrl: string | null;
  readonly key: Secret | null;
}

const PROBED_TEXTS = ['The service reranks.', 'The ferry leaves at two.'];
const PROBE_MS = 10_000;
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Checks whether the embedder can be reached (reference-mcp-cli §2.2). */
export async function checkEmbeddings(settings: Settings, scheduler: Scheduler): Promise<Section> {
  const { embedBackend: backend, embedApiKey: key } = settings;
  const section = new SectionBuilder('Embeddings reachability').fact('backend', backend);
  if (backend === 'none') return section.unused('switched off: recall answers by keyword').done();
  const log = stderrLog('silent');
  const embedder = await openEmbedder(settings, { clock: systemClock, scheduler, log });
  if (!embedder.ok) {
    section.warn(
      'EMBED_BACKEND_UNAVAILABLE',
      `${embedder.error.message}; recall answers by words`,
      'correct [embeddings], see docs/embedders.md',
    );
  } else {
    const { model, dim } = embedder.value;
    section.fact('encoder', model).fact('dimension', dim);
    await embedder.value.close();
  }
  const target = remoteTarget(settings);
  if (target === null) return section.fact('state', 'inside this program; it needs no network').done();
  const { baseUrl, isNative } = target;
  await probe({ code: 'EMBEDDINGS', isNative, baseUrl, key }, section, scheduler);
  return section.done();
}

/** Checks whether the chat models can be reached, and shows what they were asked today. */
export async function checkLlm(
  settings: Settings,
  content: Pick<ContentFacts, 'modelUse'> | null,
  nowMs: number,
  scheduler: Scheduler,
): Promise<Section> {
  const section = new SectionBuilder('LLM reachability');
  const main = chatTarget('llm', settings);
  const small = chatTarget('llm.auto_tag', settings);
  const isConfigured = [settings.llmBackend, settings.autoTagBackend].some(
    (backend) => backend !== null && backend !== 'none',
  );
  if (!isConfigured) return section.unused('not configured').done();
  const probed = new Set<string>();
  for (const target of [main, small]) {
    if (typeof target === 'string') continue;
    const { section: name, backend, model, shape, baseUrl, key } = target;
    section.fact(`${name} backend`, backend).fact(`${name} model`, model);
    if (probed.has(baseUrl.href)) continue;
    probed.add(baseUrl.href);
    const isNative = shape === 'local-native';
    await probe({ code: 'LLM', isNative, baseUrl: baseUrl.href, key }, section, scheduler);
  }
  const missing = { llm: [main, settings.llmBackend], 'llm.auto_tag': [small, settings.autoTagBackend] };
  for (const [name, [target, backend]] of Object.entries(missing)) {
    if (typeof target !== 'string' || backend === null || backend === 'none') continue;
    section.warn('LLM_NOT_USABLE', `the model of [${name}] is not asked`, target as string);
  }
  return showUse(section, settings, content?.modelUse ?? [], nowMs).done();
}

/** Asks the reranker about two sentences of this program. */
export async function checkReranker(settings: Settings, scheduler: Scheduler): Promise<Section> {
  const section = new SectionBuilder('Reranker reachability');
  const { rerankerEnabled, rerankerBaseUrl: address, rerankerModel: model, rerankerApiKey: key } = settings;
  if (!rerankerEnabled || address === null) return section.unused('not configured').done();
  const url = new URL(address);
  section.fact('model', model).fact('address', shownUrl(address));
  if (key !== null && url.protocol === 'http:' && !LOOPBACK.has(url.hostname)) {
    return section
      .warn('RERANKER_KEY_IN_CLEAR', 'the key is sent over plain http', 'use an https base_url')
      .done();
  }
  const reranker = openReranker({ settings, scheduler, clock: systemClock, log: stderrLog('silent') });
  const began = systemClock.monotonicMs();
  const found = await reranker.relevances('Does the service rerank?', PROBED_TEXTS, began + PROBE_MS);
  const { lastError } = reranker.state();
  await reranker.close();
  if (typeof found !== 'string') {
    section.info('RERANKER_REACHABLE', `${url.host} answers`);
  } else {
    section.warn(
      'RERANKER_UNREACHABLE',
      `${lastError ?? `${url.host} did not answer in time`}; recall keeps its own order`,
      'correct [reranker], start the service, or raise reranker.timeout_ms',
    );
  }
  return section.done();
}

function showUse(
  section: SectionBuilder,
  { llmCallsPerDay: max }: Settings,
  use: readonly ModelUse[],
  nowMs: number,
): SectionBuilder {
  const today = use.filter(({ day }) => day === instantFromMs(nowMs).slice(0, 'YYYY-MM-DD'.length));
  const sum = (member: 'calls' | 'failures' | 'tokens_in' | 'tokens_out') =>
    today.reduce((total, row) => total + row[member], 0);
  section
    .fact('requests today', max === 0 ? sum('calls') : `${sum('calls')} of ${max}`)
    .fact('failures today', sum('failures'))
    .fact('tokens today', `${sum('tokens_in')} in, ${sum('tokens_out')} out`);
  if (max > 0 && sum('calls') >= max) {
    section.warn(
      'LLM_DAY_USED_UP',
      `the ${max} requests to chat models of this day are used up`,
      'wait until midnight UTC, or raise llm.max_calls_per_day',
    );
  }
  return section;
}

/** 200 is fine, a refusal or an overload a warning, anything else critical. */
async function probe(model: Model, section: SectionBuilder, scheduler: Scheduler): Promise<void> {
  const { code, isNative, baseUrl, key } = model;
  if (baseUrl === null) return;
  const url = isNative ? under(new URL(baseUrl), '/api/tags', '') : under(new URL(baseUrl), '/models', '/v1');
  section.fact('probe', shownUrl(url.href));
  if (key !== null && url.protocol === 'http:' && !LOOPBACK.has(url.hostname)) {
    section.warn(`${code}_KEY_IN_CLEAR`, 'the key is sent over plain http', 'use an https base_url');
    return;
  }
  const headers: Record<string, string> =
    isNative || key === null ? {} : { authorization: `Bearer ${key.reveal()}` };
  const answer = await httpGet(url, headers, scheduler);
  const fix = 'correct base_url and the key, or start the model server';
  if (!answer.ok) {
    section.crit(`${code}_UNREACHABLE`, `${url.host} does not answer: ${answer.reason}`, fix);
  } else if (answer.status === 200) {
    section.info(`${code}_REACHABLE`, `${url.host} answers`);
  } else if ([401, 403, 429].includes(answer.status) || answer.status >= 500) {
    section.warn(`${code}_REFUSED`, `${url.host} answers ${answer.status}`, fix);
  } else {
    section.crit(`${code}_WRONG_ENDPOINT`, `${url.host} answers ${answer.status}`, fix);
  }
}
