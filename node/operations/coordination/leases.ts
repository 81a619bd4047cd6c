import { z } from 'zod';
import { LEASE_SECONDS, LEASE_SECONDS_MAX } from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { noAction } from '../../../protocol/coordination/action-rows.js';
import {
  type Lease,
  type LeaseTerm,
  leaseKind,
  leaseTermKind,
} from '../../../protocol/coordination/lease-kind.js';
import { epochSeconds } from '../../../protocol/coordination/signed.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { actingAgent } from './acting-agent.js';
import { actionAt, actionId, fencingToken } from './action-fields.js';

const holder = fields.agentId.describe('The holder: the caller. Only the operator names another agent');
const ttlSecs = z
  .int()
  .min(1, 'ttl_secs must be positive')
  .max(LEASE_SECONDS_MAX, 'ttl_secs exceeds maximum of 1 year')
  .default(LEASE_SECONDS)
  .describe('Seconds until it ends, unless it is renewed');

/** A lease in an answer; instants are epoch seconds. */
export const leaseOutput = z.object({
  action_id: z.string(),
  holder: z.string(),
  fencing_token: z.int().describe('Give it with each write: an older one is refused'),
  acquired_at: z.int(),
  expires_at: z.int().describe('About when it ends'),
  heartbeat_at: z.int(),
});

export function shownLease(lease: Lease, term: LeaseTerm | null): z.input<typeof leaseOutput> {
  const { action_id, holder: held, token: fencing_token, acquired_at, ttl_secs } = lease;
  const heartbeat_at = epochSeconds(term?.heartbeat_at ?? acquired_at);
  return {
    ...{ action_id, holder: held!, fencing_token, acquired_at: epochSeconds(acquired_at), heartbeat_at },
    expires_at: heartbeat_at + (term?.ttl_secs ?? ttl_secs),
  };
}

const actorOf = ({ caller }: Call, by: string) => ({ by, operator: caller.viewer.all });

/** Leases an action to an agent. */
export const memoryLeaseAcquire = defineOperation({
  name: 'memory_lease_acquire',
  family: 'power',
  summary: 'Lease an action for some time, under a fencing token that only grows.',
  input: z.object({ action_id: actionId, holder, ttl_secs: ttlSecs }),
  output: z.object({ lease: leaseOutput }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  mcp: {
    description:
      'Lock a task (action) for some seconds or minutes, so that nobody else takes it. Answers the fencing token that later calls need.',
  },
  run: async (call, { action_id: id, holder: named, ttl_secs: ttlSecs }) => {
    const by = actingAgent(call, named, 'holder');
    if (!by.ok) return failed(by.error);
    const action = await actionAt(call, id);
    if (!action.ok) return failed(action.error);
    if (action.value === null) return failed(noAction(id));
    const command = { kind: 'acquire-lease', id, ttlSecs, ...actorOf(call, by.value) } as const;
    const held = await call.services.store.execute(command);
    return held.ok ? ok({ lease: shownLease(held.value.lease, held.value.term) }) : failed(held.error);
  },
});

/** Begins the term of a lease anew. */
export const memoryLeaseRenew = defineOperation({
  name: 'memory_lease_renew',
  family: 'power',
  summary: 'Renew a lease that the caller holds.',
  input: z.object({
    ...{ action_id: actionId, holder, ttl_secs: ttlSecs, fencing_token: fencingToken.optional() },
  }),
  output: z.object({ lease: leaseOutput }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  mcp: { description: 'Extend the lease on a task (action) before it ends.' },
  run: async (call, { action_id: id, holder: named, ttl_secs: ttlSecs, fencing_token: token }) => {
    const by = actingAgent(call, named, 'holder');
    if (!by.ok) return failed(by.error);
    const command = { kind: 'renew-lease', id, ttlSecs, token, ...actorOf(call, by.value) } as const;
    const held = await call.services.store.execute(command);
    return held.ok ? ok({ lease: shownLease(held.value.lease, held.value.term) }) : failed(held.error);
  },
});

/** Gives a lease back. */
export const memoryLeaseRelease = defineOperation({
  name: 'memory_lease_release',
  family: 'power',
  summary: 'Give a lease back; false where the caller does not hold it.',
  input: z.object({ action_id: actionId, holder, fencing_token: fencingToken.optional() }),
  output: z.object({ released: z.boolean() }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  mcp: { description: 'Give up the lease on a task (action), so that others can take it.' },
  run: async (call, { action_id: id, holder: named, fencing_token: token }) => {
    const by = actingAgent(call, named, 'holder');
    if (!by.ok) return failed(by.error);
    const command = { kind: 'release-lease', id, token, ...actorOf(call, by.value) } as const;
    const done = await call.services.store.execute(command);
    return done.ok ? ok({ released: done.value.released }) : failed(done.error);
  },
});

/** Shows who holds the lease of an action. */
export const memoryLeaseGet = defineOperation({
  name: 'memory_lease_get',
  family: 'power',
  summary: 'Show the lease of an action, if somebody holds it.',
  input: z.object({ action_id: actionId }),
  output: z.object({ lease: leaseOutput.nullable() }),
  effect: 'read',
  guards: {},
  mcp: { description: 'Show who holds the lease on a task (action), and until when.' },
  run: async (call, { action_id }) => {
    const action = await actionAt(call, action_id);
    if (!action.ok) return failed(action.error);
    if (action.value === null) return ok({ lease: null });
    const { services, caller, now } = call;
    const asked = { kind: 'find-records', limit: 1, viewer: caller.viewer, now } as const;
    const found = await services.store.query({ ...asked, of: leaseKind.name, where: { action_id } });
    if (!found.ok) return failed(found.error);
    const [lease] = rowsOf(leaseKind, found.value);
    if (lease === undefined || lease.holder === null) return ok({ lease: null });
    const terms = await services.store.query({
      ...asked,
      of: leaseTermKind.name,
      where: { token: lease.token, action_id },
    });
    if (!terms.ok) return failed(terms.error);
    return ok({ lease: shownLease(lease, rowsOf(leaseTermKind, terms.value)[0] ?? null) });
  },
});
