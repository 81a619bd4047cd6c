import type { AgentId } from '../base/meanings.js';
import type { ReadPolicy, ReadRegion } from '../namespaces/read-policies.js';
import { EVERYWHERE } from '../namespaces/standard-chain.js';
import { globSource } from './glob.js';
import type { ReadLimits } from './rules-for-reads.js';

/** The reader of a region. */
export interface Reader {
  readonly agentId: AgentId | null;
  readonly isRegistered: boolean;
  /** True where a policy that cannot be evaluated lets pass. */
  readonly failOpen: boolean;
}

/** The namespaces that policies keep from a reader. */
export function limitsOfPolicies(regions: readonly ReadRegion[], reader: Reader): ReadLimits {
  const kept = regions.filter((region) => isKeptFrom(region, reader));
  if (kept.length === 0) return { withheld: [], rules: [] };
  // One expression, because an engine compiles each.
  const withheld = [`^(?:${kept.map(regionSource).join('|')})`];
  return {
    withheld,
    rules: [...new Set(kept.map(({ from, level }) => `policy of ${from}: read = ${level}`))],
  };
}

function isKeptFrom({ level, owner }: ReadPolicy, { agentId, isRegistered, failOpen }: Reader): boolean {
  if (level === 'any') return false;
  if (level === 'registered') return !isRegistered;
  if (level === 'owner') return owner === null || owner !== agentId;
  return !failOpen;
}

/** The namespaces of a region as a regular expression without its beginning; SQLite's and PostgreSQL's read it alike. */
function regionSource({ root, excepted }: ReadRegion): string {
  const except = excepted.length === 0 ? '' : `(?!(?:${excepted.map(globSource).join('|')})(?:/|$))`;
  return root === EVERYWHERE ? `(?!_)${except}` : `${except}${globSource(root)}(?:/|$)`;
}
