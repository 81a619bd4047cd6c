import { LEASE_SECS } from './action-calls.js';
import type { EndParts } from './end-checks.js';
import type { Invocation } from './workload.js';

/** A lease that a client was told that it has. */
interface Grant {
  readonly action: string;
  readonly holder: string;
  readonly token: number;
  readonly call: Invocation;
}

const TOKENS_OF_A_HOME = 2 ** 32;
const homeOf = (token: number): number => Math.floor(token / TOKENS_OF_A_HOME);

/** Moves after which nobody holds the lease of an action. */
const GIVES_UP = new Set(['pending', 'done', 'failed', 'abandoned']);

/**
 * What leases owe: no token was given twice, none counted after a later one was given, and none was taken from its holder
 * before its term was over. A home whose disk was lost may have forgotten what it gave, and a home that was taken over
 * may not know of it; so only what one home gave is compared.
 */
export function checkLeases({ world, history, checks }: EndParts): void {
  if (checks.disksLost.size > 0) return;
  const grants = history.flatMap(grantOf);
  const byAction = new Map<string, Grant[]>();
  for (const grant of grants) byAction.set(grant.action, [...(byAction.get(grant.action) ?? []), grant]);
  for (const [action, given] of byAction) {
    const calls = history.filter(({ subject }) => subject === action);
    const tokens = new Set<number>();
    for (const { token, call } of given) {
      if (tokens.has(token)) world.violate(call.node.name, 'token given twice', `${action} ${token}`);
      tokens.add(token);
    }
    for (const call of calls) {
      const stale = staleGrant(call, given);
      if (stale !== null)
        world.violate(call.node.name, 'stale token', `call ${call.number} after ${stale.token} of ${action}`);
    }
    for (const grant of given) {
      const early = given.find((other) => isEarly(grant, other, calls));
      if (early !== undefined)
        world.violate(early.call.node.name, 'lease taken early', `${action} ${grant.token} ${early.token}`);
    }
  }
}

function grantOf(call: Invocation): Grant[] {
  const { name, subject, answer } = call;
  if (name !== 'memory_lease_acquire' || subject === null || answer?.ok !== true) return [];
  const lease = answer.value['lease'] as { readonly holder: string; readonly fencing_token: number };
  return [{ action: subject, holder: lease.holder, token: lease.fencing_token, call }];
}

/** The later grant that a client was told of before a call succeeded with an earlier token; null where there is none. */
function staleGrant({ name, input, answer, invokedMs }: Invocation, given: readonly Grant[]): Grant | null {
  const { fencing_token: token } = input as { readonly fencing_token?: number };
  const wrote = name === 'memory_action_transition' || name === 'memory_lease_renew';
  if (!wrote || token === undefined || answer?.ok !== true) return null;
  const isLater = (grant: Grant) =>
    grant.token > token && homeOf(grant.token) === homeOf(token) && grant.call.answeredMs! < invokedMs;
  return given.find(isLater) ?? null;
}

/** True where another agent got a lease before the term was over of the one who had it, which nobody gave up. */
function isEarly(held: Grant, taken: Grant, calls: readonly Invocation[]): boolean {
  const endsMs = held.call.invokedMs + LEASE_SECS * 1000;
  const takenMs = taken.call.answeredMs!;
  if (taken.holder === held.holder || homeOf(taken.token) !== homeOf(held.token)) return false;
  if (taken.call.invokedMs < held.call.answeredMs! || takenMs >= endsMs) return false;
  return !calls.some(
    ({ name, input, invokedMs, answeredMs }) =>
      invokedMs < takenMs &&
      (answeredMs === null || answeredMs > held.call.invokedMs) &&
      (name === 'memory_lease_release' || GIVES_UP.has(String(input['to']))),
  );
}
