import { parentPort, workerData } from 'node:worker_threads';
import { fail, type Result } from '../../protocol/base/result.js';
import { openForReading } from '../open/open.js';
import type { Connection } from '../sql/connection.js';
import { VectorFollower } from './vector-follower.js';
import { type VectorCall, type VectorReply, vectorThreadDataSchema } from './vector-messages.js';

/**
 * Entry of the vector thread: opens the database read-only at the first call and answers calls one at a time. It
 * answers DATABASE_ERROR when the database cannot be opened or read, and tries again at the next call.
 */
const port = parentPort;
if (port === null) throw new Error('the vector thread needs a parent');
const data = vectorThreadDataSchema.parse(workerData);
let follower: VectorFollower | null = null;
let database: Connection | null = null;

function open(): VectorFollower {
  if (follower !== null) return follower;
  database = openForReading(data.place);
  const source = { model: data.model, dim: data.dim };
  follower = new VectorFollower(
    database,
    data.bytesMax === undefined ? source : { ...source, bytesMax: data.bytesMax },
  );
  return follower;
}

function attempt<T>(act: (follower: VectorFollower) => Result<T>): Result<T> {
  try {
    return act(open());
  } catch (error) {
    if (database?.faultOf(error) === null) throw error;
    database?.close();
    database = null;
    follower = null;
    return fail(
      'DATABASE_ERROR',
      `vector search cannot read the database: ${(error as { code?: string }).code}`,
    );
  }
}

port.on('message', ({ id, request }: VectorCall) => {
  if (request === null) {
    const outcome = attempt((opened) => opened.refresh());
    const reply: VectorReply = outcome.ok ? { id, found: null } : { id, error: outcome.error };
    port.postMessage(reply);
    return;
  }
  const outcome = attempt((opened) => opened.search(request));
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
