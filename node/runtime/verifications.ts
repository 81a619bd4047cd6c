import { VERIFY_CALLERS_MAX, VERIFY_NONCES_MAX } from '../../protocol/base/limits.js';
import { quotaHolder } from '../../protocol/identity/quota.js';
import type { Verifications } from '../pipeline/call.js';

/**
 * The nonces of verifications, in memory: the last ones of each caller, for the callers that verified last. They are single
 * use as long as the process runs and remembers them.
 */
export class RememberedVerifications implements Verifications {
  private readonly callers = new Map<string, Set<string>>();

  use(agentId: string, fingerprint: string): boolean {
    // Anonymous callers have an id for each request; together they are one caller.
    const caller = quotaHolder(agentId);
    const used = this.callers.get(caller) ?? new Set();
    if (used.has(fingerprint)) return false;
    used.add(fingerprint);
    dropOldest(used, VERIFY_NONCES_MAX);
    // A map and a set keep the order of insertion: the first is the least recently used.
    this.callers.delete(caller);
    this.callers.set(caller, used);
    dropOldest(this.callers, VERIFY_CALLERS_MAX);
    return true;
  }
}

function dropOldest(kept: Map<string, unknown> | Set<string>, max: number): void {
  const oldest = kept.keys().next();
  if (kept.size > max && oldest.done === false) kept.delete(oldest.value);
}
