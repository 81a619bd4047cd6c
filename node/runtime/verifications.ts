import { BoundedMap } from '../../protocol/base/bounded-map.js';
import { VERIFY_CALLERS_MAX, VERIFY_NONCES_MAX } from '../../protocol/base/limits.js';
import { quotaHolder } from '../../protocol/identity/quota.js';
import type { Verifications } from '../pipeline/call.js';

/**
 * The nonces of verifications, in memory: the last ones of each caller, for the callers that verified last. They are single
 * use as long as the process runs and remembers them.
 */
export class RememberedVerifications implements Verifications {
  private readonly callers = new BoundedMap<string, BoundedMap<string, true>>(VERIFY_CALLERS_MAX);

  use(agentId: string, fingerprint: string): boolean {
    // Anonymous callers have an id for each request; together they are one caller.
    const caller = quotaHolder(agentId);
    const used = this.callers.get(caller) ?? new BoundedMap<string, true>(VERIFY_NONCES_MAX);
    if (used.has(fingerprint)) return false;
    used.set(fingerprint, true);
    this.callers.set(caller, used);
    return true;
  }
}
