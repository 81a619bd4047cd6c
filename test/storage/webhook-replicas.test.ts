import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PromoteMemory } from '../../protocol/memory/promote.js';
import type { Command } from '../../protocol/release.js';
import { EVENT_TYPES } from '../../protocol/webhooks/event-types.js';
import { FindRows } from '../../storage/sql/kinds/find-rows.js';
import { subscriptionEvents } from '../../storage/sql/queries/webhooks.js';
import { Statements } from '../../storage/sql/statements.js';
import { deleting, linking, OPERATOR, storing, tenant, updating } from '../support/memories.js';
import fc from '../support/properties.js';
import { type Replica, replica } from '../support/replicas.js';
import { START_MS, sync } from './kind-cases.js';

const IDS = ['m0', 'm1', 'm2'] as const;
const OWNERS = ['ai:a', 'ai:b'] as const;
const VIEWERS = [OPERATOR, tenant('ai:a'), tenant('ai:b')] as const;

const promoting = (id: string, to: string | null): PromoteMemory => ({
  ...{ kind: 'promote-memory', id, targetTier: 'long', viewer: OPERATOR, archive: true },
  vertical: to === null ? null : { toNamespace: to, cloneId: `clone-${id}` },
});

/** Puts a store aside; the agent that decides it is `ai:b`. */
const asking = (n: number): Command => ({
  ...{ kind: 'request-approval', pendingId: `pending-${n}`, action: 'store', namespace: 'team/x' },
  command: { ...storing({ id: `asked-${n}`, title: `asked ${n}` }) },
  memoryId: `asked-${n}` as never,
  approver: { form: 'agent', agent: 'ai:b' } as never,
  requestedBy: 'ai:a' as never,
});

type Drawn = (serial: number) => Command;
const id = fc.constantFrom(...IDS);
/** One pair, so that a link that ends was made before. */
const pair = fc.constant(['m0', 'm1'] as const);
const drawn: fc.Arbitrary<Drawn> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        id,
        owner: fc.constantFrom(...OWNERS),
        scope: fc.constantFrom('private', 'collective'),
        tier: fc.constantFrom('short', 'mid'),
        namespace: fc.constantFrom('team', 'team/x'),
        ttl: fc.constantFrom(0, 60),
      })
      .map(
        ({ owner, scope, ttl, ...row }): Drawn =>
          (serial) => {
            const metadata = { agent_id: owner, scope, attest_level: 'claimed' };
            const expires_at = ttl === 0 ? null : new Date(START_MS + (serial + ttl) * 1000).toISOString();
            return storing({ ...row, title: `title ${row.id}`, metadata, expires_at });
          },
      ),
  },
  {
    weight: 2,
    arbitrary: id.map(
      (one): Drawn =>
        () =>
          deleting(one),
    ),
  },
  {
    weight: 1,
    arbitrary: id.map(
      (one): Drawn =>
        (n) =>
          updating(one, { content: `edit ${n}` }),
    ),
  },
  {
    weight: 1,
    arbitrary: id.map(
      (one): Drawn =>
        () =>
          updating(one, { tier: 'long' }),
    ),
  },
  {
    weight: 2,
    arbitrary: id.map(
      (one): Drawn =>
        () =>
          promoting(one, null),
    ),
  },
  {
    weight: 2,
    arbitrary: id.map(
      (one): Drawn =>
        () =>
          promoting(one, 'team'),
    ),
  },
  {
    weight: 3,
    arbitrary: pair.map(
      ([a, b]): Drawn =>
        () =>
          linking(a, b),
    ),
  },
  {
    weight: 2,
    arbitrary: pair.map(
      ([source_id, target_id]): Drawn =>
        () => ({
          ...{ kind: 'invalidate-link', validUntil: null, viewer: OPERATOR, by: 'ai:a' as never },
          link: { source_id, target_id, relation: 'related_to' },
        }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(id, id).map(
      ([a, b]): Drawn =>
        (n) => ({
          ...{ kind: 'consolidate-memories', ids: [a, b], summary: null, onConflict: 'version' },
          result: { id: `sum-${n}`, title: 'sum', namespace: 'team', tier: 'long', expiresAt: null },
          ...{ agentId: 'ai:a' as never, viewer: OPERATOR, archive: true },
        }),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Drawn>(() => ({ kind: 'expire-memories', limit: 10, archive: true })) },
  {
    weight: 1,
    arbitrary: id.map(
      (one): Drawn =>
        () => ({
          ...{ kind: 'archive-memories', ids: [one], reason: 'away', viewer: OPERATOR },
        }),
    ),
  },
  {
    weight: 1,
    arbitrary: id.map(
      (one): Drawn =>
        () => ({
          ...{ kind: 'restore-memory', id: one, viewer: OPERATOR, archive: true },
          ttlSeconds: { short: 600, mid: 600, long: null },
        }),
    ),
  },
  { weight: 3, arbitrary: fc.constant<Drawn>((n) => asking(n)) },
  {
    weight: 1,
    arbitrary: fc.nat(20).map(
      (n): Drawn =>
        () => ({ kind: 'settle-pending', pendingId: `pending-${n}` }),
    ),
  },
);

/** What each subscription gets, without what one node adds. */
function eventsOf({ db }: Replica): readonly unknown[][] {
  return VIEWERS.map((viewer, index) => {
    const asked = { subscriptionId: `subscription-${index}`, since: '', limit: 1_000_000, viewer } as const;
    const statements = new Statements(db);
    const parts = { statements, find: new FindRows(statements) };
    const { events } = subscriptionEvents(parts, { kind: 'subscription-events', ...asked });
    return events.map(({ payload }) => {
      const {
        delivered_at: _at,
        correlation_id: _id,
        ...body
      } = JSON.parse(payload) as Record<string, unknown>;
      return body;
    });
  });
}

async function subscribed(name: string): Promise<Replica> {
  const one = replica(name, START_MS);
  for (const [index, viewer] of VIEWERS.entries()) {
    const subscription = {
      ...{ id: `subscription-${index}`, url: 'https://example.org/', events: '*', secret_hash: null },
      ...{ namespace_filter: null, agent_filter: null, created_by: (viewer.agentId ?? 'operator') as never },
    };
    await one.run({ kind: 'subscribe', subscription, viewer });
  }
  return one;
}

describe('events on two nodes', { timeout: 120_000 }, () => {
  it('are the same where a change is made and where its operation is applied, for every owner', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(drawn, { minLength: 25, maxLength: 60 }), async (commands) => {
        const [one, two] = [await subscribed('a'), await subscribed('b')];
        for (const [serial, command] of commands.entries()) {
          // Some commands are refused, which is no event either.
          await one.store.execute(command(serial));
          for (const node of [one, two]) node.nowMs += serial % 9 === 8 ? 90_000_000 : 1000;
          await sync(one, two);
        }
        const [here, there] = [eventsOf(one), eventsOf(two)];
        assert.deepEqual(there, here);
        const [all, ...others] = here as readonly { event: string }[][];
        for (const own of others) {
          assert.ok(
            own.every((event) => all!.some((one) => JSON.stringify(one) === JSON.stringify(event))),
            'an owner gets a part of what the operator gets',
          );
        }
        for (const { event } of all!) seen.add(event);
      }),
      { numRuns: Number(process.env['WEBHOOK_RUNS'] ?? 60), endOnFailure: true },
    );
    assert.deepEqual([...seen].sort(), [...EVENT_TYPES].sort(), 'every event was among them');
  });
});
