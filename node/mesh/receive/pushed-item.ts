import { memoryIdProblem } from '../../../protocol/base/ids.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { mayHold } from '../../../protocol/log/scope.js';
import type { Peer } from '../../../protocol/peers/peer.js';
import type { Call } from '../../pipeline/call.js';
import type { NO_COUNTERS } from './legacy-push.js';
import type { ShippedVector } from './shipped-vectors.js';

type Counter = keyof typeof NO_COUNTERS;
/** The effect of an item: `applied`, or the counter that counts it instead; `noop` when nothing was left to do. */
export type Effect = 'applied' | 'noop' | Counter;

/** What an item needs to know of its push. */
export interface Pushed {
  readonly peer: Peer;
  readonly call: Call;
  readonly vectors: ReadonlyMap<string, ShippedVector>;
}

/** A live memory by its whole id: NOT_FOUND when it does not exist, FORBIDDEN out of the scope of the peer. */
export async function liveMemory(
  item: unknown,
  { peer, call }: Pushed,
): Promise<Result<{ readonly id: string }>> {
  const id = idOf(item);
  if (!id.ok) return failed(id.error);
  const { services, caller, now } = call;
  const found = await services.store.query({ kind: 'get-memory', id: id.value, viewer: caller.viewer, now });
  if (!found.ok) return found.error.code === 'AMBIGUOUS_ID_PREFIX' ? missing() : failed(found.error);
  const { memory } = found.value;
  if (memory.id !== id.value) return missing();
  return mayHold(peer, memory.namespace) ? ok({ id: memory.id }) : outOfScope();
}

/** A text that can be the id of a memory. */
export function idOf(item: unknown): Result<string> {
  if (typeof item !== 'string') return fail('VALIDATION_FAILED', 'must be an id');
  const problem = memoryIdProblem(item);
  return problem === null ? ok(item) : fail('VALIDATION_FAILED', problem);
}

const missing = () => fail('NOT_FOUND', 'memory not found');
/** The answer to an item that concerns a namespace outside its sender's scope. */
export const outOfScope = () => fail('FORBIDDEN', 'the namespace is outside the scope of this peer');
