// This import comes first, so that nothing reaches standard output.
import '../thread-output.js';
import { parentPort } from 'node:worker_threads';
import type { EmbedCall, EmbedReply } from '../embedder-messages.js';
import { ENCODER_DIM, SentenceEncoder } from './sentence-encoder.js';
import { withoutNumbers } from './without-numbers.js';

/**
 * Entry of the built-in embedder's thread: opens the encoder's file, says `loaded`, then answers one batch
 * after the other. A file that cannot be read ends the thread with the error.
 */
const port = parentPort;
if (port === null) throw new Error('the embedder thread needs a parent');

const send = (reply: EmbedReply, transfer: ArrayBuffer[] = []) => port.postMessage(reply, transfer);
const encoder = new SentenceEncoder();

port.on('message', ({ id, texts }: EmbedCall) => {
  try {
    const vectors = new Float32Array(texts.length * ENCODER_DIM);
    for (const [place, text] of texts.entries()) {
      encoder.write(withoutNumbers(text), vectors.subarray(place * ENCODER_DIM, (place + 1) * ENCODER_DIM));
    }
    send({ kind: 'embedded', id, vectors }, [vectors.buffer]);
  } catch (error) {
    send({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) });
  }
});
send({ kind: 'loaded' });
