import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Settings } from '../../config/settings.js';
import type { Embedder, EmbedderSeams } from '../embedder.js';
import { ModelEmbedder } from '../model-embedder.js';
import { ModelThread } from '../model-thread.js';
import { knownModel } from '../remote/known-models.js';
import { windowTokensOf } from '../token-windows.js';
import { readModelFolder } from './model-folder.js';
import type { OnnxThreadData } from './onnx-messages.js';
import { missingPackages, runtimeCommand, runtimeFolder } from './runtime.js';

const ENTRY = new URL('./onnx-thread.js', import.meta.url);

/** The embedder of a model in a folder; its runtime is installed only by those who use it. */
export function openOnnxEmbedder(
  { home, embedModelFolder: folder, embedDim }: Pick<Settings, 'home' | 'embedModelFolder' | 'embedDim'>,
  seams: EmbedderSeams,
): Result<Embedder> {
  if (folder === null) return fail('UNAVAILABLE', 'the embedder "onnx" needs embeddings.model_folder');
  const read = readModelFolder(folder);
  if (!read.ok) return failed(read.error);
  const runtime = runtimeFolder(home);
  const missing = missingPackages(home);
  if (missing.length > 0) {
    return fail(
      'UNAVAILABLE',
      `the embedder "onnx" needs ${missing.join(' and ')}: run ${runtimeCommand(home)}`,
    );
  }
  const { name, model, dim, tokens, pooling } = read.value;
  if (embedDim !== null && embedDim !== dim) {
    return fail(
      'UNAVAILABLE',
      `the model in ${folder} has ${dim} dimensions, but [embeddings] dim is ${embedDim}`,
    );
  }
  const threadData: OnnxThreadData = { folder, model, runtime, dim, tokens, pooling };
  const known = knownModel(name.split(':')[0]!);
  return ok(
    new ModelEmbedder({
      ...seams,
      model: `onnx/${name}`,
      dim,
      input: { windowTokens: windowTokensOf(tokens) },
      open: (events) => new ModelThread({ entry: ENTRY, workerData: threadData, dim, ...events }),
      ...(known === null ? {} : { prefixes: known.prefixes }),
    }),
  );
}
