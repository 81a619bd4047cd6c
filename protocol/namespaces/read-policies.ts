import { isReservedNamespace, withAncestors } from '../base/ids.js';
import type { AgentId } from '../base/meanings.js';
import type { Standard } from '../memory/standard-kind.js';
import { ofOperators, policiesOf } from './effective-policy.js';
import { READ_LEVELS } from './policy-members.js';
import { EVERYWHERE } from './standard-chain.js';

/** What the policies of admins and of the operator say about reads of a namespace. */
export interface ReadPolicy {
  /** A level that this release does not know, as a later one may have written it, lets nobody read. */
  readonly level: string;
  /** The namespace whose policy decides; null where none says anything. */
  readonly from: string | null;
  /** Who set the standard that decides; null for the operator. */
  readonly owner: AgentId | null;
}

/** A namespace with all below it, except for parts in which another policy decides. */
export interface ReadRegion extends ReadPolicy {
  readonly root: string;
  readonly excepted: readonly string[];
}

const UNLIMITED: ReadPolicy = { level: 'any', from: null, owner: null };

/**
 * Who may read a namespace: the nearest policy that an admin or the operator set decides. Policies of agents say nothing about
 * reads, because they would keep memories from those who wrote them.
 */
export function readPolicyAt(
  namespace: string,
  standardOf: (namespace: string) => Standard | null,
): ReadPolicy {
  if (isReservedNamespace(namespace)) return UNLIMITED;
  const policies = policiesOf(namespace, ofOperators(standardOf));
  const nearest = policies.findLast(({ governance }) => governance?.['read'] !== undefined);
  if (nearest === undefined) return UNLIMITED;
  const { governance, namespace: from, set_by: owner } = nearest;
  return { level: String(governance?.['read']), from, owner };
}

/** The regions that all namespaces fall into, as the standards part them; none where no policy is about reads. */
export function readRegions(standards: readonly Standard[]): readonly ReadRegion[] {
  if (!standards.some(({ governance }) => governance?.['read'] !== undefined)) return [];
  const known = new Map(standards.map((standard) => [standard.namespace, standard]));
  const standardOf = (namespace: string) => known.get(namespace) ?? null;
  const parts = new Map<string, ReadPolicy & { readonly root: string; readonly excepted: string[] }>();
  const roots = [...known.keys()].filter((root) => root !== EVERYWHERE && !isReservedNamespace(root));
  // A namespace stands before those below it.
  for (const root of [EVERYWHERE, ...roots.sort((a, b) => a.length - b.length)]) {
    const policy = readPolicyAt(root, standardOf);
    const above = [...withAncestors(root).slice(1), EVERYWHERE].find((at) => parts.has(at));
    const around = root === EVERYWHERE ? undefined : parts.get(above!);
    if (around !== undefined && isSame(around, policy)) continue;
    around?.excepted.push(root);
    parts.set(root, { ...policy, root, excepted: [] });
  }
  return [...parts.values()].filter(({ level }) => level !== 'any');
}

const isSame = (a: ReadPolicy, b: ReadPolicy): boolean =>
  a.level === b.level && a.from === b.from && a.owner === b.owner;

/** True where more may read than before: a looser level, or another owner. */
export function isLooserRead(after: ReadPolicy, before: ReadPolicy): boolean {
  if (after.level === before.level) return after.level === 'owner' && after.owner !== before.owner;
  return strictness(after) < strictness(before);
}

function strictness({ level }: ReadPolicy): number {
  const at = (READ_LEVELS as readonly string[]).indexOf(level);
  return at < 0 ? READ_LEVELS.length : at;
}
