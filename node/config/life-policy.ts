import { PROMOTE_ACCESS_COUNT } from '../../protocol/base/limits.js';
import type { LifePolicy } from '../../protocol/memory/life-policy.js';
import type { Tier } from '../../protocol/memory/memory.js';
import type { Settings } from './settings.js';

/** Time to live of a new memory of each tier, in seconds; null means for ever. */
export function ttlSecondsOf(settings: Settings): Readonly<Record<Tier, number | null>> {
  return {
    short: settings.shortTtlSeconds,
    mid: settings.midTtlSeconds,
    long: settings.longTtlSeconds,
  };
}

/** How a use may extend and promote a memory. */
export function lifePolicyOf(settings: Settings): LifePolicy {
  const mid = settings.midExtendSeconds ?? settings.midTtlSeconds;
  return {
    extendSeconds: { short: settings.shortExtendSeconds, mid: mid === 0 ? null : mid, long: null },
    promoteAccessCount: PROMOTE_ACCESS_COUNT,
  };
}
