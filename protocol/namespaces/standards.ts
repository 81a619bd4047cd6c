import { canonicalJson } from '../base/canonical-json.js';
import { isReservedNamespace, namespaceProblem } from '../base/ids.js';
import type { MemoryId } from '../base/meanings.js';
import { type Failure, fail, failed, ok, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { GATES } from '../decide/gate.js';
import { type Reading, tombstoneOf } from '../decide/reads.js';
import { dropRecord, putRecord, recordRow } from '../decide/record-writes.js';
import { NO_REST } from '../kinds/payload.js';
import { isExpired, isVisible, mayChange } from '../memory/access.js';
import { memoryKind } from '../memory/memory-kind.js';
import { memoryById } from '../memory/reads.js';
import { type Standard, standardKind } from '../memory/standard-kind.js';
import { gatePolicy, isLooser, ofOperators, policiesOf } from './effective-policy.js';
import { standardsAbove } from './gate-policy.js';
import { type Governance, mergedGovernance } from './policy-members.js';
import { holdsOthers } from './reads.js';
import { EVERYWHERE } from './standard-chain.js';
import { isOperators, STANDARD_MEMBERS, type StandardMember } from './standard-owner.js';

/**
 * Pins a memory as the standard of a namespace, names the namespace that it inherits from, or sets its policy
 * (interface §2.5). What is absent stays as it is.
 */
export interface SetStandard {
  readonly kind: 'set-standard';
  readonly namespace: string;
  /** The memory that becomes the standard; null pins none. */
  readonly standardId?: MemoryId | null;
  /** Null inherits from the ancestors. */
  readonly parent?: string | null;
  /** Members of the policy to set; null removes the policy. */
  readonly governance?: Governance | null;
  readonly viewer: Viewer;
  /** Where stores go that name no namespace; `global` unless given. */
  readonly defaultNamespace?: string;
}

/** What `set-standard` answers. */
export interface SetStandardOutcome {
  readonly standard: Standard;
}

/** Removes the standard of a namespace; the memory stays. */
export interface ClearStandard {
  readonly kind: 'clear-standard';
  readonly namespace: string;
  /** The caller; absent for a peer. */
  readonly viewer?: Viewer;
  readonly defaultNamespace?: string;
}

/** What `clear-standard` answers. */
export interface ClearStandardOutcome {
  readonly cleared: boolean;
}

/** Unpins the memory of a standard when that memory was removed. */
export interface UnpinRemoved {
  readonly kind: 'unpin-removed';
  readonly namespace: string;
}

/** What `unpin-removed` answers. */
export interface UnpinRemovedOutcome {
  readonly unpinned: boolean;
}

/**
 * Sets a standard. VALIDATION_FAILED for an invalid namespace or policy, NOT_FOUND for a memory that the caller cannot
 * see, FORBIDDEN for a memory or a standard of another agent.
 */
function* decideSetStandard(command: SetStandard, context: DecisionContext): Deciding<SetStandardOutcome> {
  const { namespace, viewer } = command;
  const before = (yield* recordRow(standardKind, namespace))?.image ?? null;
  const hides = hiding(command);
  if (hides !== null) return failed(hides);
  const said = saidBy(command, before);
  if (!said.ok) return failed(said.error);
  const changed = STANDARD_MEMBERS.filter((member) => isChanged(member, before, said.value));
  const refused = refusalOf(command, before, changed);
  if (refused !== null) return failed(refused);
  const image: Standard = {
    ...{ rest: NO_REST, ...before, ...said.value, namespace, updated_at: context.now },
    operator_set: operatorSet(command, before, said.value),
  };
  const taken = yield* takesOver(image, before, viewer);
  if (taken !== null) return failed(taken);
  const loosened = yield* loosening(image, viewer);
  if (loosened !== null) return failed(loosened);
  const { standard_id: standardId } = said.value;
  if (standardId !== null && standardId !== before?.standard_id) {
    const unfit = yield* unfitMemory(standardId, viewer, context);
    if (unfit !== null) return failed(unfit);
  }
  if (before !== null && isSame(before, image)) return decided({ standard: before }, []);
  return decided({ standard: image }, [yield* putRecord(standardKind, { id: namespace, namespace }, image)]);
}

type Said = Pick<Standard, 'standard_id' | 'parent_namespace' | 'governance' | 'set_by'>;

/** What the standard says after the command, or what is wrong with that. */
function saidBy(command: SetStandard, before: Standard | null): Result<Said> {
  const { namespace, viewer } = command;
  const {
    standardId = before?.standard_id ?? null,
    parent = before?.parent_namespace ?? null,
    governance: given,
  } = command;
  for (const [field, value] of [
    ['namespace', namespace],
    ['parent', parent],
  ] as const) {
    const problem = value === null ? null : namespaceProblem(value);
    if (problem !== null) return fail('VALIDATION_FAILED', `${field}: ${problem}`, { fields: [field] });
  }
  if (parent === namespace) {
    return fail('VALIDATION_FAILED', 'a namespace cannot be its own parent', { fields: ['parent'] });
  }
  const stored = before?.governance ?? null;
  let governance = given === undefined ? stored : null;
  if (given !== undefined && given !== null) {
    const merged = mergedGovernance(stored, given);
    if (!merged.ok) return failed(merged.error);
    governance = merged.value;
  }
  if (standardId === null && parent === null && governance === null) {
    return fail('VALIDATION_FAILED', 'a standard names a memory or a parent, or has a policy', {
      fields: ['id'],
    });
  }
  const said = { standard_id: standardId, parent_namespace: parent, governance };
  return ok({ ...said, set_by: before === null ? viewer.agentId : before.set_by });
}

const isChanged = (member: StandardMember, before: Standard | null, { [member]: after }: Said): boolean =>
  canonicalJson(before?.[member] ?? null) !== canonicalJson(after);

/** The members that an admin or the operator has set, after the command; null where none is and an agent set the standard. */
function operatorSet(
  { standardId, parent, governance, viewer }: SetStandard,
  before: Standard | null,
  said: Said,
): readonly StandardMember[] | null {
  const given = { standard_id: standardId, parent_namespace: parent, governance };
  const members = STANDARD_MEMBERS.filter((member) => {
    if (said[member] === null) return false;
    if (viewer.all && given[member] !== undefined) return true;
    return before !== null && isOperators(before, member);
  });
  return members.length === 0 && said.set_by !== null ? null : members;
}

/**
 * Why a caller may not set or clear the standard of a namespace: it belongs to another agent or the operator, or an admin
 * set what would change, or everybody inherits it, or the namespace is the service's own. Null when the caller may.
 */
function refusalOf(
  { namespace, viewer, defaultNamespace }: SetStandard | ClearStandard,
  before: Standard | null,
  changed: readonly StandardMember[],
): Failure | null {
  // A peer has its scope instead.
  if (viewer === undefined || viewer.all) return null;
  const refused = (message: string): Failure => ({ code: 'FORBIDDEN', message });
  if (isEverybodys(namespace, defaultNamespace) || viewer.agentId === null) {
    return refused(`only an admin or the operator changes the standard of "${namespace}"`);
  }
  if (before === null) return null;
  const kept = changed.find((member) => before[member] !== null && isOperators(before, member));
  if (before.set_by === null || kept !== undefined) {
    return refused(`the operator or an admin set the standard of "${namespace}": only they change that`);
  }
  return before.set_by === viewer.agentId ? null : refused('caller does not own this namespace standard');
}

/** Refuses a policy about reads of an agent: it would keep memories from those who wrote them. */
function hiding({ governance, viewer }: SetStandard): Failure | null {
  if (viewer.all || (governance?.['read'] ?? null) === null) return null;
  const message = 'governance.read: only an admin or the operator says who reads a namespace';
  return { code: 'FORBIDDEN', message };
}

/** The namespace that many use without having chosen it, unless the operator names another one. */
const DEFAULT_NAMESPACE = 'global';

/** True for a namespace that belongs to everybody or to the service. */
const isEverybodys = (namespace: string, defaultNamespace = DEFAULT_NAMESPACE): boolean =>
  namespace === EVERYWHERE || namespace === defaultNamespace || isReservedNamespace(namespace);

/** Refuses a first policy, or a first parent to inherit one from, over memories of others; null for any other standard. */
function* takesOver(image: Standard, before: Standard | null, viewer: Viewer): Reading<Failure | null> {
  const begins = (member: 'governance' | 'parent_namespace') =>
    image[member] !== null && (before === null || before[member] === null);
  if (viewer.all || !(begins('governance') || begins('parent_namespace'))) return null;
  const { namespace } = image;
  if (!(yield* holdsOthers({ namespace, agentId: viewer.agentId }))) return null;
  const message = `"${namespace}" holds memories of other agents: only an admin or the operator sets its first policy or parent`;
  return { code: 'FORBIDDEN', message };
}

/**
 * Refuses a standard that would let more pass than the policies above it do, unless the caller set the policy that it
 * loosens: a policy would mean nothing if everybody could except a namespace from it. Null when it loosens nothing.
 */
function* loosening(image: Standard, viewer: Viewer): Reading<Failure | null> {
  if (viewer.all) return null;
  const now = yield* standardsAbove(image.namespace);
  const after = policiesOf(image.namespace, yield* standardsAbove(image.namespace, image));
  // The standard of the namespace itself is the caller's to change.
  const above = policiesOf(image.namespace, (at) => (at === image.namespace ? null : now(at)));
  // The policy of a named parent can change later, without a check of this namespace.
  const left = above.find(
    (policy) =>
      policy.namespace !== EVERYWHERE &&
      (policy.set_by !== viewer.agentId || isOperators(policy, 'governance')),
  );
  if (image.parent_namespace !== null && left !== undefined) {
    return {
      code: 'FORBIDDEN',
      message: `only the owner of the policy of "${left.namespace}" or an admin may name another parent below it`,
    };
  }
  const floor = policiesOf(image.namespace, ofOperators(now));
  for (const gate of GATES) {
    const changed = gatePolicy(after, gate);
    for (const inherited of [gatePolicy(above, gate), gatePolicy(floor, gate)]) {
      if ('problem' in inherited || 'problem' in changed || !isLooser(gate, changed, inherited)) continue;
      if (inherited.owner === viewer.agentId && !inherited.isOperators) continue;
      return {
        code: 'FORBIDDEN',
        message: `the policy of "${inherited.from}" is stricter about ${gate}; only ${inherited.isOperators ? '' : 'its owner or '}an admin may loosen it below`,
      };
    }
  }
  return null;
}

/** Why a memory cannot be pinned; null when it can. */
function* unfitMemory(id: MemoryId, viewer: Viewer, context: DecisionContext): Reading<Failure | null> {
  const memory = yield* memoryById(id);
  if (memory === null || isExpired(memory, context.now) || !isVisible(memory, viewer)) {
    return { code: 'NOT_FOUND', message: 'memory not found' };
  }
  if (mayChange(memory, viewer)) return null;
  return { code: 'FORBIDDEN', message: 'caller does not own the memory of the standard' };
}

/** True for standards that differ in their dates only. */
function isSame(a: Standard, b: Standard): boolean {
  return standardKind.payload.text({ ...a, updated_at: b.updated_at }) === standardKind.payload.text(b);
}

/** Clears a standard; does nothing when no standard is set. FORBIDDEN for the standard of another agent. */
function* decideClearStandard(command: ClearStandard): Deciding<ClearStandardOutcome> {
  const row = yield* recordRow(standardKind, command.namespace);
  if (row === null) return decided({ cleared: false }, []);
  const refused = refusalOf(command, row.image, STANDARD_MEMBERS);
  if (refused !== null) return failed(refused);
  return decided({ cleared: true }, [dropRecord(standardKind, row, 'clear')]);
}

/**
 * Unpins a memory that was removed here; a memory that this node never had may still come. A parent and a policy stay:
 * a policy must not end because a memory expired. A standard that says nothing else is removed.
 */
function* decideUnpinRemoved(
  { namespace }: UnpinRemoved,
  context: DecisionContext,
): Deciding<UnpinRemovedOutcome> {
  const row = yield* recordRow(standardKind, namespace);
  const id = row?.image.standard_id ?? null;
  if (row === null || id === null || (yield* memoryById(id)) !== null)
    return decided({ unpinned: false }, []);
  const removed = yield* tombstoneOf({ kind: memoryKind.name, id });
  if (removed === null) return decided({ unpinned: false }, []);
  const image: Standard = { ...row.image, standard_id: null, updated_at: context.now };
  const emptied = image.parent_namespace === null && image.governance === null;
  const mutation = emptied
    ? dropRecord(standardKind, row, 'memory_removed')
    : yield* putRecord(standardKind, { id: namespace, namespace }, image);
  return decided({ unpinned: true }, [mutation]);
}

export const setStandardCommand = defineCommand({
  kind: 'set-standard',
  decide: decideSetStandard,
  gate: 'governance',
});

export const clearStandardCommand = defineCommand({
  kind: 'clear-standard',
  decide: decideClearStandard,
  gate: 'governance',
});

export const unpinRemovedCommand = defineCommand({
  kind: 'unpin-removed',
  decide: decideUnpinRemoved,
  gate: 'governance',
});
