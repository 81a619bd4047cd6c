import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entityIdOf } from '../../protocol/memory/entity.js';
import type { RegisterEntityOutcome } from '../../protocol/namespaces/register-entity.js';
import type { SetStandard } from '../../protocol/namespaces/standards.js';
import { repairOf } from '../../protocol/replication/repair-subjects.js';
import { aMemory, deleting, OPERATOR, storing } from '../support/memories.js';
import { type Replica, replica } from '../support/replicas.js';
import { scrubbed } from '../support/scrubbed.js';
import { alike, ask, START_MS, sync } from './kind-cases.js';

const ADA = 'aaaaaaaa-0000-4000-8000-000000000001';

/** Registers one entity, under the id that follows from its name. */
const register = async (one: Replica, aliases: readonly string[], metadata: object = {}) =>
  (await one.run({
    kind: 'register-entity',
    memory: aMemory({
      ...{ title: 'Ada', namespace: 'people', kind: 'entity', tier: 'long' },
      metadata: { agent_id: 'ai:writer', attest_level: 'claimed', ...metadata },
    }),
    ids: [ADA, 'aaaaaaaa-0000-4000-8000-000000000002'],
    aliases,
    viewer: OPERATOR,
    archive: true,
  })) as RegisterEntityOutcome;

const resolved = async (one: Replica, alias: string, namespace: string | null = null) => {
  const now = new Date(one.nowMs).toISOString();
  const query = { kind: 'entity-by-alias', alias, namespace, viewer: OPERATOR, now } as const;
  return (await ask<{ entity: RegisterEntityOutcome['entity'] | null }>(one, query)).entity;
};

const both = async (one: Replica, two: Replica) => {
  await sync(one, two);
  await sync(two, one);
  await alike(one, two);
};

const pair = () => [replica('a', START_MS), replica('b', START_MS + 1)] as const;

describe('an entity on two nodes', () => {
  it('that both register at the same time is one, with the aliases of both', async () => {
    const [one, two] = pair();
    await register(one, ['Countess', 'Lovelace'], { from: 'one' });
    await register(two, ['countess', 'Augusta'], { from: 'two' });
    await both(one, two);
    for (const node of [one, two]) {
      const entity = await resolved(node, 'AUGUSTA', 'people');
      assert.equal(entity?.entity_id, entityIdOf(ADA));
      assert.deepEqual(entity, await resolved(node, 'lovelace'));
      assert.deepEqual(
        new Set(entity?.aliases.map((alias) => alias.toLowerCase())),
        new Set(['ada', 'countess', 'lovelace', 'augusta']),
      );
    }
    assert.equal((await register(two, ['Lovelace'])).created, false);
  });

  it('that one deletes while the other adds an alias stays deleted, and the alias comes back with it', async () => {
    const [one, two] = pair();
    await register(one, ['Countess']);
    await both(one, two);
    await one.run(deleting(ADA));
    await register(two, ['Augusta']);
    await both(one, two);
    for (const node of [one, two]) assert.equal(await resolved(node, 'augusta'), null);
    const ttlSeconds = { short: 60, mid: 60, long: null };
    await two.run({ kind: 'restore-memory', id: ADA, ttlSeconds, viewer: OPERATOR, archive: true });
    await both(one, two);
    for (const node of [one, two]) {
      assert.deepEqual((await resolved(node, 'augusta'))?.aliases.toSorted(), ['Ada', 'Augusta', 'Countess']);
    }
  });

  it('whose alias was damaged has it again after a repair from the log', async () => {
    const [one] = pair();
    await register(one, ['Countess']);
    const where = "kind = 'alias' AND payload LIKE '%countess%'";
    const { id } = one.db.prepare(`SELECT id FROM records WHERE ${where}`).get() as { id: string };
    assert.match(id, /^[^|]+\|[0-9a-f]{64}$/, 'the name is not in the id, which an erasure leaves');
    one.db.prepare(`UPDATE records SET payload = '{' WHERE ${where}`).run();
    assert.equal(await resolved(one, 'countess'), null);
    assert.deepEqual((await resolved(one, 'ada'))?.aliases, ['Ada']);
    await scrubbed(one);
    assert.deepEqual((await resolved(one, 'countess'))?.aliases, ['Ada', 'Countess']);
    one.db.prepare("DELETE FROM records WHERE kind = 'alias'").run();
    await one.run(repairOf({ subjects: [{ kind: 'alias', id }] } as never));
    assert.equal((await resolved(one, 'countess'))?.entity_id, entityIdOf(ADA));
  });
});

describe('a standard on two nodes', () => {
  const set = (fields: Partial<SetStandard>) =>
    ({ kind: 'set-standard', namespace: 'team', viewer: OPERATOR, ...fields }) as const;
  const policies = async (one: Replica) => {
    const query = {
      kind: 'read-standards',
      namespace: 'team',
      inherit: false,
      viewer: OPERATOR,
      now: '',
    } as const;
    const { standards } = await ask<{ standards: { standard_id: string | null; governance: unknown }[] }>(
      one,
      query,
    );
    return standards.map(({ standard_id, governance }) => ({ standard_id, governance }));
  };

  it('carries its policy, and after concurrent changes both have the later one', async () => {
    const [one, two] = pair();
    const memory = storing({ title: 'rules', namespace: 'team' });
    await one.run(memory);
    await one.run(set({ standardId: memory.memory.id, governance: { write: 'owner', inherit: false } }));
    await both(one, two);
    assert.deepEqual(await policies(two), [
      { standard_id: memory.memory.id, governance: { write: 'owner', inherit: false } },
    ]);
    await one.run(set({ governance: { write: 'approve' } }));
    two.nowMs += 1000;
    await two.run(set({ governance: { delete: 'approve' } }));
    await both(one, two);
    assert.deepEqual(await policies(one), await policies(two));
    assert.deepEqual(await policies(one), [
      { standard_id: memory.memory.id, governance: { write: 'owner', inherit: false, delete: 'approve' } },
    ]);
  });

  it('is unpinned on both when its memory goes', async () => {
    const [one, two] = pair();
    const memory = storing({ title: 'rules', namespace: 'team' });
    await one.run(memory);
    await one.run(set({ standardId: memory.memory.id }));
    await both(one, two);
    await two.run(deleting(memory.memory.id));
    const removed = await ask<{ namespaces: string[] }>(two, { kind: 'removed-standards', limit: 10 });
    assert.deepEqual(removed, { namespaces: ['team'] });
    await two.run({ kind: 'unpin-removed', namespace: 'team' });
    await both(one, two);
    assert.deepEqual([await policies(one), await policies(two)], [[], []]);
  });
});
