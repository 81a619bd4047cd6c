import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { Result } from '../../protocol/base/result.js';
import type { Action, ActionState } from '../../protocol/coordination/action-kind.js';
import { actionKind } from '../../protocol/coordination/action-kind.js';
import type { AddActionEdge } from '../../protocol/coordination/add-edge.js';
import type { CreateAction } from '../../protocol/coordination/create-action.js';
import { type Lease, leaseKind } from '../../protocol/coordination/lease-kind.js';
import type { AcquireLease, ReleaseLease, RenewLease } from '../../protocol/coordination/leases.js';
import type { NewAction } from '../../protocol/coordination/plan-actions.js';
import { claimerAfter, type TransitionAction } from '../../protocol/coordination/transition-action.js';
import { rowsOf } from '../../protocol/kinds/find.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import { OPERATOR, tenant } from '../support/memories.js';
import type { Replica } from '../support/replicas.js';

export const START_MS = Date.parse('2026-01-02T00:00:00.000Z');
/** Ends of peer ids. */
export const [HOME, OTHER, THIRD] = ['a', 'b', 'c'].map((letter) => letter.repeat(16)) as [
  string,
  string,
  string,
];

export const wanted = (fields: Partial<NewAction> = {}): NewAction => ({
  ...{ id: randomUUID(), namespace: 'team', actionKind: 'build', title: 'build it', payload: {} },
  ...{ priority: 0, agentId: null, metadata: {} },
  ...fields,
});

export const creating = (fields: Partial<NewAction> = {}, by = 'ai:maker'): CreateAction => ({
  kind: 'create-action',
  action: wanted(fields),
  by,
  viewer: tenant(by),
});

export const adding = (
  from: string,
  to: string,
  type: AddActionEdge['type'] = 'requires',
): AddActionEdge => ({
  ...{ kind: 'add-action-edge', from, to, type, by: 'ai:maker', viewer: OPERATOR },
});

/** Runs a command, whatever it answers. */
export const tried = <C extends Command>(one: Replica, command: C): Promise<Result<OutcomeOf<C>>> =>
  one.store.execute(command);

export async function done<C extends Command>(one: Replica, command: C): Promise<OutcomeOf<C>> {
  const result = await tried(one, command);
  assert.ok(result.ok, result.ok ? '' : `${command.kind}: ${result.error.code} ${result.error.message}`);
  return result.value;
}

export async function refusedWith(one: Replica, command: Command, code: string) {
  const result = await tried(one, command);
  assert.equal(result.ok ? 'taken' : result.error.code, code);
  return result.ok ? assert.fail() : result.error;
}

/** The action as a node has it. */
export async function actionOf(one: Replica, id: string): Promise<Action> {
  const found = await one.store.query({
    ...{ kind: 'find-records', of: actionKind.name, where: { action_id: id }, limit: 1 },
    ...{ viewer: null, now: '2026-01-01T00:00:00.000Z' },
  });
  assert.ok(found.ok);
  const [action] = rowsOf(actionKind, found.value);
  assert.ok(action !== undefined, `no action ${id}`);
  return action;
}

/** A move of an action as an agent sees it now; unsigned. */
export async function moving(
  one: Replica,
  id: string,
  to: ActionState,
  by = 'ai:worker',
  fields: Partial<TransitionAction> = {},
): Promise<TransitionAction> {
  const action = await actionOf(one, id);
  return {
    ...{ kind: 'transition-action', id, namespace: action.namespace, from: action.state, to, by },
    ...{
      operator: false,
      claimedBy: claimerAfter(action, to, null, by),
      nonce: randomBytes(16).toString('base64'),
    },
    ...{ at: action.created_at, signature: null, publicKey: null },
    ...fields,
  };
}

/** Brings to one replica what another one has more. */
export async function bring(from: Replica, to: Replica): Promise<void> {
  const have = Object.fromEntries(
    to.db.prepare('SELECT origin, max(origin_seq) FROM operations GROUP BY origin').raw().all() as [
      string,
      number,
    ][],
  );
  const operations = await from.read(have);
  if (operations.length > 0) await to.apply(operations);
}

/** Gives all replicas what each of them has, and checks that they are then alike and whole. */
export async function together(...replicas: readonly Replica[]): Promise<void> {
  for (const from of replicas) for (const to of replicas) if (from !== to) await bring(from, to);
  const [first, ...others] = replicas;
  for (const other of others) assert.deepEqual(await other.state(), await first!.state());
  for (const each of replicas) assert.deepEqual(each.audit(), []);
}

/** The actor of a command. */
export const as = (by: string, operator = false) => ({ by, operator });

export const acquiring = (id: string, by = 'ai:worker', ttlSecs = 60): AcquireLease => ({
  ...{ kind: 'acquire-lease', id, ttlSecs },
  ...as(by),
});
export const renewing = (id: string, by = 'ai:worker', token?: number, ttlSecs = 60): RenewLease => ({
  ...{ kind: 'renew-lease', id, ttlSecs, token },
  ...as(by),
});
export const releasing = (id: string, by = 'ai:worker', token?: number): ReleaseLease => ({
  ...{ kind: 'release-lease', id, token },
  ...as(by),
});

/** The lease of an action as a node has it. */
export async function leaseOf(one: Replica, id: string): Promise<Lease> {
  const found = await one.store.query({
    ...{ kind: 'find-records', of: leaseKind.name, where: { action_id: id }, limit: 1 },
    ...{ viewer: null, now: '2026-01-01T00:00:00.000Z' },
  });
  assert.ok(found.ok);
  return rowsOf(leaseKind, found.value)[0] ?? assert.fail(`no lease of ${id}`);
}
