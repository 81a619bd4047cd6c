// This import comes first, so that it is in place when the libraries load.
import '../thread-output.js';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { EmbedCall, EmbedReply } from '../embedder-messages.js';
import type { OnnxThreadData } from './onnx-messages.js';

/**
 * Entry of the thread of a model in a folder: loads the runtime that the operator installed, the model and its
 * tokenizer, says `loaded`, then answers one batch after the other. What does not load ends the thread with the error.
 */

/** The part of the runtime that is used. */
interface Runtime {
  readonly InferenceSession: {
    create(path: string, options: object): Promise<Session>;
  };
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => object;
}

interface Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(
    feeds: Readonly<Record<string, object>>,
  ): Promise<Readonly<Record<string, { readonly data: Float32Array; readonly dims: readonly number[] }>>>;
}

interface Encoding {
  readonly ids: readonly number[];
  readonly token_type_ids?: readonly number[];
}

interface Tokenizers {
  readonly Tokenizer: new (json: object, config: object) => { encode(text: string): Encoding };
}

const port = parentPort;
if (port === null) throw new Error('the embedder thread needs a parent');
const { folder, model, runtime, dim, tokens, pooling } = workerData as OnnxThreadData;

const require = createRequire(join(runtime, 'package.json'));
const { InferenceSession, Tensor } = require('onnxruntime-node') as Runtime;
const { Tokenizer } = require('@huggingface/tokenizers') as Tokenizers;
const tokenizer = new Tokenizer(jsonIn('tokenizer.json', {}), jsonIn('tokenizer_config.json', {}));
const session = await InferenceSession.create(model, { logSeverityLevel: 3 });

const send = (reply: EmbedReply, transfer: ArrayBuffer[] = []) => port.postMessage(reply, transfer);
// The first run is slower than the next.
await embed(['warm up']);

port.on('message', (call: EmbedCall) => {
  // The parent sends the next batch only after this one's answer, so batches never overlap.
  void answer(call);
});
send({ kind: 'loaded' });

async function answer({ id, texts }: EmbedCall): Promise<void> {
  try {
    const vectors = await embed(texts);
    send({ kind: 'embedded', id, vectors }, [vectors.buffer as ArrayBuffer]);
  } catch (error) {
    send({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) });
  }
}

async function embed(texts: readonly string[]): Promise<Float32Array> {
  const encodings = texts.map((text) => idsOf(tokenizer.encode(text)));
  const length = Math.max(...encodings.map((ids) => ids.length));
  const dims = [texts.length, length];
  const ids = new BigInt64Array(texts.length * length);
  const mask = new BigInt64Array(texts.length * length);
  for (const [row, encoding] of encodings.entries()) {
    for (const [column, token] of encoding.entries()) {
      ids[row * length + column] = BigInt(token);
      mask[row * length + column] = 1n;
    }
  }
  const given: Readonly<Record<string, BigInt64Array>> = {
    input_ids: ids,
    attention_mask: mask,
    token_type_ids: new BigInt64Array(texts.length * length),
  };
  const feeds = Object.fromEntries(
    session.inputNames.map((name) => {
      const data = given[name];
      if (data === undefined) throw new Error(`the model has an input "${name}" that is not known`);
      return [name, new Tensor('int64', data, dims)];
    }),
  );
  const outputs = await session.run(feeds);
  const sentence = outputs['sentence_embedding'];
  const output = sentence ?? outputs['last_hidden_state'] ?? outputs[session.outputNames[0]!]!;
  if (output.dims.at(-1) !== dim) {
    throw new Error(`the model answers ${output.dims.at(-1)} dimensions, not ${dim}`);
  }
  const isPooled = output.dims.length === 2;
  const lengths = encodings.map((encoding) => encoding.length);
  return unitRows(isPooled ? output.data : pooled(output.data, lengths, length), texts.length);
}

/** The first tokens that the model reads, with the last one, which ends the text. */
function idsOf({ ids }: Encoding): readonly number[] {
  return ids.length <= tokens ? ids : [...ids.slice(0, tokens - 1), ids.at(-1)!];
}

/** One vector for each text: of its first token, or the mean of all. */
function pooled(data: Float32Array, lengths: readonly number[], length: number): Float32Array {
  const vectors = new Float32Array(lengths.length * dim);
  for (const [row, count] of lengths.entries()) {
    const last = pooling === 'cls' ? 1 : count;
    for (let token = 0; token < last; token += 1) {
      const from = (row * length + token) * dim;
      for (let at = 0; at < dim; at += 1) vectors[row * dim + at]! += data[from + at]! / last;
    }
  }
  return vectors;
}

function unitRows(values: Float32Array, rows: number): Float32Array {
  const vectors = Float32Array.from(values);
  for (let row = 0; row < rows; row += 1) {
    const vector = vectors.subarray(row * dim, (row + 1) * dim);
    const length = Math.hypot(...vector);
    if (!(length > 0 && length < Number.POSITIVE_INFINITY)) {
      throw new Error('the model answered a vector without a direction');
    }
    for (let at = 0; at < dim; at += 1) vector[at]! /= length;
  }
  return vectors;
}

function jsonIn(name: string, otherwise: object): object {
  try {
    return JSON.parse(readFileSync(join(folder, name), 'utf8')) as object;
  } catch (error) {
    if (name !== 'tokenizer.json') return otherwise;
    throw error;
  }
}
