import { failed, ok, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import { type Caller, isMadeId } from '../identity/caller.js';
import type { Services } from './call.js';

type Parts = Pick<Services, 'reads' | 'store' | 'settings' | 'crypto' | 'log' | 'clock'>;

/** Callers as rules about reads let them see in an operation, for what is sent to them outside a call. */
export const limitedIn =
  (parts: Parts, operation: string) =>
  (caller: Caller): Promise<Result<Caller>> =>
    parts.reads.limited(caller, operation, {}, parts, instantFromMs(parts.clock.nowMs()));

/** What rules about reads keep from the owners of subscriptions. */
export function withheldFromOwners(parts: Parts): (owner: Viewer) => Promise<Result<Viewer['withheld']>> {
  const limited = limitedIn(parts, 'memory_subscribe');
  return async (owner) => {
    const seeing = await limited(ownerAsCaller(owner));
    return seeing.ok ? ok(seeing.value.viewer.withheld) : failed(seeing.error);
  };
}

/** The owner of a subscription; the operator of the machine, whom nothing limits, is no agent. */
function ownerAsCaller(viewer: Viewer): Caller {
  const agentId = viewer.agentId ?? '';
  const isOperator = viewer.all && isMadeId(agentId);
  const seen = isOperator ? { ...viewer, agentId: null } : viewer;
  return { agentId, claimed: 'explicit', viewer: seen, admin: false, local: false };
}
