/**
 * What policies allow, written from the interface (§2.5) and docs/governance.md without the product's rules. It says what
 * is allowed at most: a product that refuses more is not at fault here.
 */

/** What matters of a memory. */
export interface Row {
  readonly id: string;
  readonly namespace: string;
  readonly title: string;
  readonly content: string;
  readonly tags: string;
  readonly tier: 'short' | 'mid' | 'long';
  readonly expires: string | null;
  readonly owner: string | null;
  readonly isPrivate: boolean;
}

export type Gate = 'write' | 'promote' | 'delete';
export type Level = 'any' | 'registered' | 'owner' | 'approve';

/** A policy as it was set. */
export interface Policy {
  readonly namespace: string;
  readonly members: Readonly<Record<string, unknown>>;
  /** Who set it first; only this agent stores where it says `owner`. */
  readonly owner: string;
  /** The members that an admin or the operator set. */
  readonly ofAdmins: ReadonlySet<string>;
}

/** A row before and after; null where it is not there. */
export interface Change {
  readonly before: Row | null;
  readonly after: Row | null;
}

/** A gate that a change passes. */
export interface Passed {
  readonly gate: Gate;
  readonly namespace: string;
  /** Undefined for a row that is new. */
  readonly owner: string | null | undefined;
  /** True where both states of the row are private and belong to the same agent. */
  readonly isPrivate: boolean;
}

const TIERS = ['short', 'mid', 'long'];
const text = ({ title, content, tags, namespace, owner, isPrivate }: Row): string =>
  JSON.stringify([title, content, tags, namespace, owner, isPrivate]);

/** The gates of what happened to a row. */
export function gatesOf({ before, after }: Change): readonly Passed[] {
  if (before === null && after === null) return [];
  const isPrivate = (before ?? after)!.isPrivate && (after ?? before)!.isPrivate;
  if (before === null) return [{ gate: 'write', namespace: after!.namespace, owner: undefined, isPrivate }];
  const at = { namespace: before.namespace, owner: before.owner, isPrivate };
  if (after === null) return [{ ...at, gate: 'delete' }];
  const passed: Passed[] = [];
  if (text(before) !== text(after)) passed.push({ ...at, gate: 'write' });
  if (after.namespace !== before.namespace) {
    passed.push(
      { ...at, gate: 'delete' },
      { ...at, gate: 'write', namespace: after.namespace, owner: undefined },
    );
  }
  const rises = TIERS.indexOf(after.tier) > TIERS.indexOf(before.tier);
  if (rises) passed.push({ ...at, gate: 'promote' });
  const isNearer = after.expires !== null && (before.expires === null || after.expires < before.expires);
  if (isNearer) passed.push({ ...at, gate: 'delete' });
  return passed;
}

/** What holds for a gate. */
export interface Held {
  /** Null where no policy sets it: then rows belong to their owners. */
  readonly level: Level | null;
  readonly policy: Policy | null;
  readonly approver: unknown;
}

function nearest(chain: readonly Policy[], gate: Gate): Held {
  let counted: Policy[] = [];
  for (const policy of chain) {
    if (policy.members['inherit'] === false) counted = [];
    counted.push(policy);
  }
  const policy = counted.findLast(({ members }) => members[gate] !== undefined) ?? null;
  const approver = counted.findLast(({ members }) => members['approver'] !== undefined);
  return {
    level: (policy?.members[gate] as Level | undefined) ?? null,
    policy,
    approver: approver?.members['approver'] ?? 'human',
  };
}

/** What holds by the policies of admins, and by all policies: an action passes both. */
export function heldAt(policies: readonly Policy[], namespace: string, gate: Gate): readonly [Held, Held] {
  const above = [...new Set(['*', ...ancestors(namespace)])];
  const chain = above.flatMap((at) => policies.filter((policy) => policy.namespace === at));
  const ofAdmins = chain.map((policy) => ({
    ...policy,
    members: Object.fromEntries(Object.entries(policy.members).filter(([name]) => policy.ofAdmins.has(name))),
  }));
  return [nearest(ofAdmins, gate), nearest(chain, gate)];
}

function ancestors(namespace: string): string[] {
  const parts = namespace.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

const LEVELS = ['any', 'registered', 'owner', 'approve'];

/**
 * Which of both counts: the policies of admins alone, unless a nearer one lets less pass. Another owner, another approver, and
 * an approval of what only an owner may do are other rights, and not fewer.
 */
function counting(byAdmins: Held, byAll: Held): readonly Held[] {
  if (byAdmins.level === null) return [byAll];
  const isStricter = LEVELS.indexOf(byAll.level ?? '') > LEVELS.indexOf(byAdmins.level);
  return isStricter && byAdmins.level !== 'owner' ? [byAdmins, byAll] : [byAdmins];
}

/** Why an agent may not pass a gate; null when it may. `approved` says whether an approval that was given counts there. */
export function keptOut(
  policies: readonly Policy[],
  agent: string,
  { gate, namespace, owner, isPrivate }: Passed,
  approved: (held: Held) => boolean,
): string | null {
  const isOwn = owner === undefined || owner === agent;
  const [byAdmins, byAll] = heldAt(policies, namespace, gate);
  for (const held of counting(byAdmins, byAll)) {
    const { level, policy } = held;
    if (isPrivate && isOwn && policy !== null && !policy.ofAdmins.has(gate)) continue;
    const mayPass =
      level === 'approve'
        ? approved(held)
        : level === 'owner'
          ? owner === undefined
            ? policy!.owner === agent
            : owner === agent
          : isOwn || (gate !== 'write' && level !== null);
    if (!mayPass) {
      const row = owner === undefined ? 'a new row' : `a row of ${owner}`;
      return `${agent} passed ${gate} in ${namespace} on ${row}, where the policy of ${policy?.owner ?? 'nobody'} says ${level}`;
    }
  }
  return null;
}
