import { LEASE_SECONDS_MAX } from '../base/limits.js';
import type { AgentId, SubjectId } from '../base/meanings.js';
import { type Failure, fail, failed, failure } from '../base/result.js';
import { defineCommand } from '../decide/command.js';
import { isAbsentOr, isAgent, isFlag, isId, passed } from '../decide/command-shape.js';
import { type Deciding, type Decision, type DecisionContext, decided } from '../decide/deciding.js';
import { type Home, numbered } from '../decide/home.js';
import { localRow, putRow } from '../decide/local-rows.js';
import { appendAudit, type Mutation } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { putRecord, recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { writtenProblem } from '../identity/ensure-quota.js';
import { quotaHolder } from '../identity/quota.js';
import { isInteger, NO_REST } from '../kinds/payload.js';
import { type Action, actionKind, isFinished } from './action-kind.js';
import { actionRow, noAction } from './action-rows.js';
import { homeHere } from './home-here.js';
import {
  isLive,
  type Lease,
  type LeaseTerm,
  leaseBy,
  leaseKind,
  leaseTermKind,
  tokenAfter,
} from './lease-kind.js';
import { endTerm, leaseRow } from './lease-rows.js';
import { epochSeconds } from './signed.js';
import type { Actor } from './transition-action.js';

/** A lease as its home has it, with the term that it counts. */
export interface HeldLease {
  readonly lease: Lease;
  readonly term: LeaseTerm;
}

/** Gives the lease of an action to an agent, under a new fencing token. Only the home of the action decides. */
export interface AcquireLease extends Actor {
  readonly kind: 'acquire-lease';
  /** The action. */
  readonly id: string;
  readonly ttlSecs: number;
}

/** Begins the term of a lease anew. */
export interface RenewLease extends Actor {
  readonly kind: 'renew-lease';
  readonly id: string;
  readonly token?: number | undefined;
  readonly ttlSecs: number;
}

/** Gives a lease back. */
export interface ReleaseLease extends Actor {
  readonly kind: 'release-lease';
  readonly id: string;
  readonly token?: number | undefined;
}

/** Ends a lease whose term has passed on the clock of the process that owns the database. */
export interface EndLease {
  readonly kind: 'end-lease';
  readonly leaseId: SubjectId;
  /** The term that has passed: a lease that was renewed or taken since then goes on. */
  readonly token: number;
  readonly renewals: number;
}

/** Begins the terms of held leases that have none here, and ends those that a home before this one gave. */
export interface BeginLeaseTerms {
  readonly kind: 'begin-lease-terms';
  /** The actions. */
  readonly ids: readonly string[];
}

/** The action that a caller names, on its home, with its lease. */
interface Found {
  readonly action: Row<Action>;
  readonly home: Home;
  readonly lease: Row<Lease> | null;
  readonly live: Lease | null;
}

function* found(id: string): Reading<Found | { readonly problem: Failure }> {
  const action = yield* actionRow(id);
  if (action === null) return { problem: noAction(id) };
  const here = yield* homeHere(action.id);
  if ('elsewhere' in here) return { problem: here.elsewhere };
  const { home } = here;
  const lease = yield* recordRow(leaseKind, action.id);
  return {
    action,
    home,
    lease,
    live: lease !== null && isLive(lease.image, home.number) ? lease.image : null,
  };
}

/**
 * NOT_FOUND; LEASE_HELD while another agent holds it; FORBIDDEN for an action of another agent; CONFLICT for one that is
 * finished; NOT_HOME on another node. The holder that acquires it again gets a new token.
 */
function* decideAcquire(command: AcquireLease, context: DecisionContext): Deciding<HeldLease> {
  const { id, by, ttlSecs } = command;
  const there = yield* found(id);
  if ('problem' in there) return failed(there.problem);
  const { action, home, lease, live } = there;
  if (live !== null && live.holder !== by) return failed(yield* heldBy(action.id, live));
  const refused = acquireProblem(action.image, lease, command);
  if (refused !== null) return failed(refused);
  const { now: at } = context;
  const image = leaseBy(home.number, {
    ...{ action_id: id, namespace: action.image.namespace, holder: by, ttl_secs: ttlSecs },
    ...{ token: tokenAfter(lease?.image.token ?? 0, home.number, epochSeconds(at)), acquired_at: at },
    rest: lease?.image.rest ?? NO_REST,
  });
  const term = {
    ...{ lease_id: action.id, action_id: id, token: image.token, renewals: 0, ttl_secs: ttlSecs },
    heartbeat_at: at,
  };
  const written = yield* putRecord(leaseKind, action, image);
  return yield* charged(command, context, { lease: image, term }, [
    ...[written, putRow(leaseTermKind, term)],
    recordOf(by, 'lease_acquire', image),
  ]);
}

/** Why an agent may not hold the lease of an action that nobody holds now; null where it may. */
function acquireProblem(
  action: Action,
  lease: Row<Lease> | null,
  { by, operator }: AcquireLease,
): Failure | null {
  const { state, agent_id: owner, claimed_by: claimer } = action;
  if (isFinished(state)) return failure('CONFLICT', `the action is ${state}; nobody works on it`);
  if (operator || claimer === by) return null;
  const refuse = (whose: string): Failure => ({
    code: 'FORBIDDEN',
    message: `${by} may not lease this action: ${whose}`,
  });
  if (owner !== null && owner !== by) return refuse(`it belongs to ${owner}`);
  // Work whose lease has ended may be taken over; work that was never leased is its claimer's.
  const isLeft = claimer === null || (state === 'in_progress' && lease !== null);
  return isLeft ? null : refuse(`it is claimed by ${claimer}`);
}

function* heldBy(leaseId: string, { action_id, holder }: Lease): Reading<Failure> {
  const term = yield* localRow(leaseTermKind, { lease_id: leaseId });
  const expires_at = term === null ? null : epochSeconds(term.heartbeat_at) + term.ttl_secs;
  const until = term === null ? '' : ` until about ${expires_at}, unless it renews it`;
  const message = `lease conflict: ${action_id} is held by ${holder}${until}`;
  return failure('LEASE_HELD', message, { action_id, holder: holder!, expires_at });
}

/** LEASE_LOST for an agent that does not hold it, whether it has ended or somebody else took it, and for an older token. */
function* decideRenew(command: RenewLease, context: DecisionContext): Deciding<HeldLease> {
  const { id, by, token, ttlSecs } = command;
  const there = yield* found(id);
  if ('problem' in there) return failed(there.problem);
  const { action, live } = there;
  if (live === null || live.holder !== by || (token !== undefined && token !== live.token)) {
    const under = token === undefined ? '' : ` under the fencing token ${token}`;
    const message = `no lease held by ${by} on ${id}${under}; acquire it again`;
    return fail('LEASE_LOST', message, { action_id: id });
  }
  const before = yield* localRow(leaseTermKind, { lease_id: action.id });
  const term: LeaseTerm = {
    ...{
      lease_id: action.id,
      action_id: id,
      token: live.token,
      ttl_secs: ttlSecs,
      heartbeat_at: context.now,
    },
    renewals: (before?.renewals ?? 0) + 1,
  };
  return yield* charged(command, context, { lease: live, term }, [
    putRow(leaseTermKind, term),
    recordOf(by, 'lease_renew', live),
  ]);
}

/** Answers false to an agent that does not hold it, or not under that token. */
function* decideRelease(
  command: ReleaseLease,
  context: DecisionContext,
): Deciding<{ readonly released: boolean }> {
  const { id, by, token } = command;
  const there = yield* found(id);
  if ('problem' in there) return failed(there.problem);
  const { home, lease, live } = there;
  const holds = live !== null && live.holder === by && (token === undefined || token === live.token);
  if (!holds) return decided({ released: false }, []);
  const ended = yield* endTerm(lease!, home);
  const value = { released: true };
  return yield* charged(command, context, value, [...ended, recordOf(by, 'lease_release', live)]);
}

/** Charges an agent for what it writes, as no call of its own does where another node passed it on. */
function* charged<T>(
  { by, operator }: Actor,
  context: DecisionContext,
  value: T,
  mutations: readonly Mutation[],
): Deciding<T> {
  if (operator) return decided(value, mutations);
  const chargedTo = quotaHolder(by);
  const problem = yield* writtenProblem(chargedTo, context);
  if (problem !== null) return failed(problem);
  const decision: Decision<T> = { value, mutations, chargedTo };
  return { ok: true, value: decision };
}

function recordOf(agentId: AgentId, what: string, { action_id, namespace, token }: Lease): Mutation {
  const payload = { action_id, namespace, token };
  return appendAudit({ event: { agentId, type: `coordination.${what}`, payload } });
}

/**
 * Ends the term that has passed; one that was renewed meanwhile goes on. An action that was only claimed waits for the next
 * agent; one in progress stays, for whoever takes its lease. NOT_HOME on another node.
 */
function* decideEnd(
  { leaseId, token, renewals }: EndLease,
  context: DecisionContext,
): Deciding<{ readonly ended: boolean }> {
  const lease = yield* recordRow(leaseKind, leaseId);
  const goesOn = decided({ ended: false }, []);
  if (lease === null || lease.image.holder === null || lease.image.token !== token) return goesOn;
  const here = yield* homeHere(leaseId);
  if ('elsewhere' in here) return failed(here.elsewhere);
  const term = yield* localRow(leaseTermKind, { lease_id: leaseId });
  if (term !== null && (term.token !== token || term.renewals !== renewals)) return goesOn;
  return decided({ ended: true }, yield* leaseEnded(lease, here.home, context));
}

/** The writes after which a lease is over that nobody gave back. */
function* leaseEnded(row: Row<Lease>, home: Home, { now }: DecisionContext): Reading<readonly Mutation[]> {
  const { holder } = row.image;
  const mutations = [...(yield* endTerm(row, home)), recordOf(holder!, 'lease_end', row.image)];
  const action = yield* recordRow(actionKind, row.id);
  if (action === null || action.image.state !== 'claimed') return mutations;
  const image = yield* numbered(row.id, {
    ...action.image,
    ...{ state: 'pending' as const, claimed_by: null, updated_at: now, last: null },
  });
  return [...mutations, yield* putRecord(actionKind, action, image)];
}

/** A lease of another home stays as it is; the answer names it. */
function* decideBegin(
  { ids }: BeginLeaseTerms,
  context: DecisionContext,
): Deciding<{ readonly elsewhere: readonly string[] }> {
  const mutations: Mutation[] = [];
  const elsewhere: string[] = [];
  for (const actionId of ids) {
    const lease = yield* leaseRow(actionId);
    if (lease === null || lease.image.holder === null) continue;
    const { id } = lease;
    const here = yield* homeHere(id);
    if ('elsewhere' in here) elsewhere.push(actionId);
    else if (!isLive(lease.image, here.home.number))
      mutations.push(...(yield* leaseEnded(lease, here.home, context)));
    else if ((yield* localRow(leaseTermKind, { lease_id: id })) === null) {
      const { action_id, token, ttl_secs, acquired_at: heartbeat_at } = lease.image;
      mutations.push(
        putRow(leaseTermKind, { lease_id: id, action_id, token, renewals: 0, ttl_secs, heartbeat_at }),
      );
    }
  }
  return decided({ elsewhere }, mutations);
}

const isToken = isAbsentOr(isInteger);
const isTtl = (value: unknown): boolean =>
  isInteger(value) && (value as number) >= 1 && (value as number) <= LEASE_SECONDS_MAX;

export const acquireLeaseCommand = defineCommand({
  kind: 'acquire-lease',
  decide: decideAcquire,
  gate: 'no memory',
  read: passed<AcquireLease>('acquire-lease', { id: isId, by: isAgent, operator: isFlag, ttlSecs: isTtl }),
  forwarded: true,
});

export const renewLeaseCommand = defineCommand({
  kind: 'renew-lease',
  decide: decideRenew,
  gate: 'no memory',
  read: passed<RenewLease>('renew-lease', {
    ...{ id: isId, by: isAgent, operator: isFlag, token: isToken, ttlSecs: isTtl },
  }),
  forwarded: true,
});

export const releaseLeaseCommand = defineCommand({
  kind: 'release-lease',
  decide: decideRelease,
  gate: 'no memory',
  read: passed<ReleaseLease>('release-lease', { id: isId, by: isAgent, operator: isFlag, token: isToken }),
  forwarded: true,
});

export const endLeaseCommand = defineCommand({ kind: 'end-lease', decide: decideEnd, gate: 'upkeep' });

export const beginLeaseTermsCommand = defineCommand({
  kind: 'begin-lease-terms',
  decide: decideBegin,
  gate: 'upkeep',
});
