import { parentPort } from 'node:worker_threads';
import type { EmbedReply } from './embedder-messages.js';

/**
 * Turns what the thread's libraries print into messages for the parent's log. Imported for its effect.
 */
const print = (text: string) => {
  const reply: EmbedReply = { kind: 'printed', text };
  parentPort?.postMessage(reply);
};

for (const stream of [process.stdout, process.stderr]) {
  stream.write = (chunk: string | Uint8Array): boolean => {
    print(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    return true;
  };
}
