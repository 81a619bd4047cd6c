import type { AgentId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { isWithheld } from '../base/withheld.js';
import { isWithin } from '../base/within.js';
import { AGENTS_NAMESPACE } from '../identity/agent.js';
import { addresseeOf, ownerOf } from '../identity/owner.js';
import type { Memory } from './memory.js';

/** True when the row's expiry has passed: such a row is hidden from every caller at once. */
export function isExpired(memory: Pick<Memory, 'expires_at'>, now: string): boolean {
  return memory.expires_at !== null && memory.expires_at <= now;
}

/** True when `position` is the namespace `root` or lies under it. */
function liesUnder(position: string, root: string): boolean {
  return position === root || position.startsWith(`${root}/`);
}

const SCOPE_LEVELS: ReadonlyMap<unknown, number> = new Map([
  ['team', 1],
  ['unit', 2],
  ['org', 3],
]);

/**
 * The visibility gate for one row (decisions, "visibility"): the same rule that the engines apply in their queries.
 * An invisible row is treated as absent by every decision.
 */
export function isVisible(memory: Pick<Memory, 'namespace' | 'metadata'>, viewer: Viewer): boolean {
  if (viewer.withheld !== undefined && isWithheld(viewer, memory.namespace)) return false;
  if (!isWithin(memory.namespace, viewer.within)) return false;
  if (viewer.all) return true;
  const scope = memory.metadata['scope'];
  if (scope === undefined || scope === null || scope === 'collective') return true;
  if (viewer.agentId !== null && ownerOf(memory) === viewer.agentId) return true;
  const level = SCOPE_LEVELS.get(scope);
  if (level === undefined) return viewer.agentId !== null && addresseeOf(memory) === viewer.agentId;
  if (viewer.asNamespace === null) return false;
  const segments = memory.namespace.split('/');
  if (segments.length <= level) return false;
  return liesUnder(viewer.asNamespace, segments.slice(0, segments.length - level).join('/'));
}

/** The agent that alone sees the row; null for a row that others see too, or that nobody owns. */
export function privateTo(memory: Memory): AgentId | null {
  const scope = memory.metadata['scope'];
  const isShared = scope === undefined || scope === null || scope === 'collective' || SCOPE_LEVELS.has(scope);
  return isShared || addresseeOf(memory) !== null ? null : ownerOf(memory);
}

/**
 * True when the caller may change the row: its owner, any caller for a row without an owner, or a local operator. An
 * agent record holds the key that verifies the agent's signatures, so it has its own commands and accepts no others.
 */
export function mayChange(memory: Memory, viewer: Viewer): boolean {
  if (memory.namespace === AGENTS_NAMESPACE || !isWithin(memory.namespace, viewer.within)) return false;
  if (viewer.all) return true;
  const owner = ownerOf(memory);
  return owner === null || owner === viewer.agentId;
}

/** True when the caller may delete the row: as `mayChange`, and also the addressee of a message. */
export function mayDelete(memory: Memory, viewer: Viewer): boolean {
  if (mayChange(memory, viewer)) return true;
  return (
    isWithin(memory.namespace, viewer.within) &&
    viewer.agentId !== null &&
    addresseeOf(memory) === viewer.agentId
  );
}
