import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { EncoderRef } from '../../protocol/maintenance/encoder-ref.js';
import { MODEL_VENDORS, vendorOf } from '../config/model-vendors.js';
import type { Settings } from '../config/settings.js';
import type { Embedder, EmbedderSeams } from './embedder.js';
import { BuiltinEmbedder } from './encoder/builtin-embedder.js';
import { windowTokensOf } from './token-windows.js';

type EmbedSettings = Pick<
  Settings,
  'home' | 'embedBackend' | 'embedBaseUrl' | 'embedModel' | 'embedDim' | 'embedApiKey' | 'embedModelFolder'
>;

/** A model of which nothing is known reads at least so much. */
const UNKNOWN_MODEL_TOKENS = 256;

/** Where a remote embedder is and what it is asked for; null for a backend that is not remote. */
export function remoteTarget(
  settings: Pick<EmbedSettings, 'embedBackend' | 'embedBaseUrl' | 'embedModel'>,
): { readonly baseUrl: string | null; readonly model: string | null; readonly isNative: boolean } | null {
  const { embedBackend: backend, embedBaseUrl: baseUrl, embedModel: model } = settings;
  const vendor = backend === 'local-native' ? MODEL_VENDORS.ollama : vendorOf(backend);
  if (vendor === null && backend !== 'compatible') return null;
  return {
    baseUrl: baseUrl ?? vendor?.baseUrl ?? null,
    model: model ?? vendor?.embedModel ?? null,
    isNative: vendor?.shape === 'local-native',
  };
}

/** The embedder of the settings, or what is missing. Loads nothing and contacts no service. */
export async function openEmbedder(settings: EmbedSettings, seams: EmbedderSeams): Promise<Result<Embedder>> {
  const { embedBackend: backend, embedDim: dim } = settings;
  if (backend === 'builtin') return ok(new BuiltinEmbedder(seams));
  if (backend === 'onnx') return openFolder(settings, seams);
  const target = remoteTarget(settings);
  if (target === null) return fail('UNAVAILABLE', `there is no embedder "${backend}"`);
  const { baseUrl, model } = target;
  if (baseUrl === null) return fail('UNAVAILABLE', `the embedder "${backend}" needs embeddings.base_url`);
  if (model === null) {
    return fail('UNAVAILABLE', `the embedder "${backend}" needs embeddings.model: it has no default`);
  }
  return openRemote(settings, { model, dim }, seams);
}

/** The embedder of vectors that a database has, under today's settings; null when they name another service. */
export async function openStoredEmbedder(
  settings: EmbedSettings,
  { model: name, dim }: EncoderRef,
  seams: EmbedderSeams,
): Promise<Embedder | null> {
  const builtin = new BuiltinEmbedder(seams);
  if (name === builtin.model) return builtin;
  const prefix = `${settings.embedBackend}/`;
  if (settings.embedBackend === 'onnx' || remoteTarget(settings) === null || !name.startsWith(prefix))
    return null;
  const opened = await openRemote(settings, { model: name.slice(prefix.length), dim }, seams);
  return opened.ok ? opened.value : null;
}

async function openRemote(
  settings: EmbedSettings,
  { model, dim }: { readonly model: string; readonly dim: number | null },
  { clock, scheduler, log }: EmbedderSeams,
): Promise<Result<Embedder>> {
  // The HTTP client is expensive to load, and few nodes need it.
  const { RemoteEmbedder } = await import('./remote/remote-embedder.js');
  const { COMPATIBLE, LOCAL_NATIVE } = await import('./remote/wire-shapes.js');
  const { knownModel, NO_PREFIXES } = await import('./remote/known-models.js');
  const { baseUrl, isNative } = remoteTarget(settings)!;
  const known = knownModel(model);
  const dimension = dim ?? known?.dim ?? null;
  if (dimension === null) {
    return fail('UNAVAILABLE', 'the dimension of the model is not known: set [embeddings] dim');
  }
  return ok(
    new RemoteEmbedder({
      name: `${settings.embedBackend}/${model}`,
      shape: isNative ? LOCAL_NATIVE : COMPATIBLE,
      baseUrl: baseUrl!,
      model,
      dim: dimension,
      windowTokens: windowTokensOf(known?.tokens ?? UNKNOWN_MODEL_TOKENS),
      prefixes: known?.prefixes ?? NO_PREFIXES,
      key: isNative ? null : settings.embedApiKey,
      clock,
      scheduler,
      log,
    }),
  );
}

async function openFolder(settings: EmbedSettings, seams: EmbedderSeams): Promise<Result<Embedder>> {
  const { openOnnxEmbedder } = await import('./onnx/onnx-embedder.js');
  return openOnnxEmbedder(settings, seams);
}
