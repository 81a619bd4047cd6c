// This import comes first, so that nothing reaches standard output.
import '../thread-output.js';
import { parentPort } from 'node:worker_threads';
import type { EmbedCall, EmbedReply } from '../embedder-messages.js';
import { BuiltinEncoder } from './builtin-encoder.js';

/**
 * Entry of the built-in embedder's thread: opens the encoder's file, says `loaded`, then answers one batch after the other.
 * A file that cannot be read ends the thread with the error.
 */
const port = parentPort;
if (port === null) throw new Error('the embedder thread needs a parent');

const send = (reply: EmbedReply, transfer: ArrayBuffer[] = []) => port.postMessage(reply, transfer);
const encoder = new BuiltinEncoder();

port.on('message', ({ id, texts }: EmbedCall) => {
  try {
    const vectors = encoder.encode(texts);
    send({ kind: 'embedded', id, vectors }, [vectors.buffer as ArrayBuffer]);
  } catch (error) {
    send({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) });
  }
});
send({ kind: 'loaded' });
