import type { Scheduler } from '../../protocol/seams.js';
import type { Secret } from '../config/secret.js';
import type { Settings } from '../config/settings.js';
import { shownUrl } from '../config/shown-url.js';
import { httpGet } from './http-get.js';
import { type Section, SectionBuilder } from './report.js';

interface Model {
  readonly code: string;
  readonly backend: string;
  readonly baseUrl: string | null;
  readonly key: Secret | null;
}

const LOCAL_NATIVE_URL = 'http://localhost:11434';
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Checks whether the embedder can be reached (reference-mcp-cli §2.2). */
export async function checkEmbeddings(settings: Settings, scheduler: Scheduler): Promise<Section> {
  const section = new SectionBuilder('Embeddings reachability').fact('backend', settings.embedBackend);
  switch (settings.embedBackend) {
    case 'none':
      return section.unused('switched off: recall answers by keyword').done();
    case 'builtin':
      return section.fact('state', 'inside this program; it needs no network').done();
    default: {
      const { embedBackend: backend, embedBaseUrl: baseUrl, embedApiKey: key } = settings;
      await probe({ code: 'EMBEDDINGS', backend, baseUrl, key }, section, scheduler);
      return section.done();
    }
  }
}

/** Checks whether the chat model can be reached. */
export async function checkLlm(settings: Settings, scheduler: Scheduler): Promise<Section> {
  const section = new SectionBuilder('LLM reachability');
  const { llmBackend: backend, llmBaseUrl: baseUrl, llmApiKey: key } = settings;
  if (backend === null || backend === 'none') return section.unused('not configured').done();
  section.fact('backend', backend).fact('model', settings.llmModel);
  await probe({ code: 'LLM', backend, baseUrl, key }, section, scheduler);
  return section.done();
}

/** 200 is fine, a refusal or an overload a warning, anything else critical. */
async function probe(model: Model, section: SectionBuilder, scheduler: Scheduler): Promise<void> {
  const { code, backend, key } = model;
  const base = model.baseUrl ?? (backend === 'local-native' ? LOCAL_NATIVE_URL : null);
  if (base === null) return;
  const isNative = backend === 'local-native';
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${isNative ? '/api/tags' : '/models'}`;
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
