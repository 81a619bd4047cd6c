import { parentPort, workerData } from 'node:worker_threads';
import { FollowedDatabase } from './followed-database.js';
import type { VectorCall, VectorReply, VectorThreadData } from './vector-messages.js';

/** Entry of the vector thread: answers calls one at a time. */
const port = parentPort;
if (port === null) throw new Error('the vector thread needs a parent');
const database = await FollowedDatabase.of(workerData as VectorThreadData);

port.on('message', ({ id, request }: VectorCall) => {
  if (request === null) {
    const outcome = database.refresh();
    const reply: VectorReply = outcome.ok ? { id, found: null } : { id, error: outcome.error };
    port.postMessage(reply);
    return;
  }
  const outcome = database.search(request);
  if (!outcome.ok) {
    const reply: VectorReply = { id, error: outcome.error };
    port.postMessage(reply);
    return;
  }
  const { queryVector, hits, mean, deviation, scanned } = outcome.value;
  const rids = Float64Array.from(hits, (hit) => hit.rid);
  const cosines = Float64Array.from(hits, (hit) => hit.cosine);
  const reply: VectorReply = { id, found: { queryVector, rids, cosines, mean, deviation, scanned } };
  port.postMessage(reply, [queryVector.buffer as ArrayBuffer, rids.buffer, cosines.buffer]);
});
