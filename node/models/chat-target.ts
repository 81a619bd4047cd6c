import {
  ANY_COMPATIBLE,
  type ChatMembers,
  MODEL_VENDORS,
  type ModelVendor,
  vendorOf,
  type WireShapeName,
} from '../config/model-vendors.js';
import type { Secret } from '../config/secret.js';
import type { Settings } from '../config/settings.js';
import { hostOf } from '../outbound/address-guard.js';
import type { ModelSection } from './features.js';

export type ModelSettings = Pick<
  Settings,
  | 'llmBackend'
  | 'llmBaseUrl'
  | 'llmModel'
  | 'llmApiKey'
  | 'autoTagBackend'
  | 'autoTagBaseUrl'
  | 'autoTagModel'
  | 'autoTagApiKey'
>;

/** A chat model that can be asked. */
export interface ChatTarget {
  readonly section: ModelSection;
  readonly backend: string;
  readonly shape: WireShapeName;
  readonly baseUrl: URL;
  /** Passed through as it is. */
  readonly model: string;
  /** Sent as a bearer token; null sends none. */
  readonly key: Secret | null;
  readonly takes: ChatMembers;
}

/** The model of a section, or what is missing for it in one clause. */
export function chatTarget(section: ModelSection, settings: ModelSettings): ChatTarget | string {
  return section === 'llm' ? mainTarget(settings) : smallTarget(settings);
}

function mainTarget({ llmBackend, llmBaseUrl, llmModel, llmApiKey }: ModelSettings): ChatTarget | string {
  return target({
    ...{ section: 'llm', backend: llmBackend, baseUrl: llmBaseUrl, model: llmModel, key: llmApiKey },
  });
}

/** What is not said is taken from [llm]; its key only for the same host, because it belongs to that. */
function smallTarget(settings: ModelSettings): ChatTarget | string {
  const { llmBackend, llmBaseUrl, llmModel, autoTagBackend, autoTagBaseUrl, autoTagModel } = settings;
  const isSameBackend = autoTagBackend === null || autoTagBackend === llmBackend;
  const own = target({
    section: 'llm.auto_tag',
    backend: autoTagBackend ?? llmBackend,
    baseUrl: autoTagBaseUrl ?? (isSameBackend ? llmBaseUrl : null),
    model: autoTagModel ?? (isSameBackend ? llmModel : null),
    key: settings.autoTagApiKey,
    mainKey: settings.llmApiKey,
    mainUrl: llmBaseUrl ?? vendorFor(llmBackend)?.baseUrl ?? null,
  });
  const ownSettings = [autoTagBackend, autoTagBaseUrl, autoTagModel, settings.autoTagApiKey];
  // Where the section says nothing, what is missing is missing in [llm].
  return typeof own === 'string' && ownSettings.every((value) => value === null) ? mainTarget(settings) : own;
}

interface Said {
  readonly section: ModelSection;
  readonly backend: string | null;
  readonly baseUrl: string | null;
  readonly model: string | null;
  readonly key: Secret | null;
  /** The key of [llm], and the address that it belongs to. */
  readonly mainKey?: Secret | null;
  readonly mainUrl?: string | null;
}

const vendorFor = (backend: string | null): ModelVendor | null =>
  backend === 'local-native' ? MODEL_VENDORS.ollama : backend === null ? null : vendorOf(backend);

function target(said: Said): ChatTarget | string {
  const { section, backend } = said;
  if (backend === null || backend === 'none') return `set ${section}.backend`;
  const vendor = vendorFor(backend);
  const address = said.baseUrl ?? vendor?.baseUrl ?? null;
  if (address === null) return `set ${section}.base_url`;
  const { chatModel: usual, takes } = vendor ?? ANY_COMPATIBLE;
  const model = said.model ?? usual;
  if (model === null) return `set ${section}.model: the backend "${backend}" has no usual one`;
  const baseUrl = new URL(address);
  const shape = vendor?.shape ?? 'compatible';
  const key = shape === 'local-native' ? null : (said.key ?? keyFor(baseUrl, said));
  if (key === null && shape === 'compatible' && !isHere(baseUrl)) {
    return `set SVC_LLM_API_KEY, or api_key_env or api_key_file in [${section}]: ${baseUrl.host} wants a key`;
  }
  return { section, backend, shape, baseUrl, model, key, takes };
}

function keyFor({ origin }: URL, { mainKey, mainUrl }: Said): Secret | null {
  if (mainKey === undefined || typeof mainUrl !== 'string') return null;
  return new URL(mainUrl).origin === origin ? mainKey : null;
}

/** True for an address of this machine. */
const isHere = (url: URL): boolean => {
  const host = hostOf(url);
  return /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|::1)$/.test(host);
};
