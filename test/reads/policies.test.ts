import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../node/identity/caller.js';
import { regexpLike } from '../../protocol/base/withheld.js';
import { type Standard, standardKind } from '../../protocol/memory/standard-kind.js';
import { DEFAULT_GOVERNANCE } from '../../protocol/namespaces/policy-members.js';
import { readPolicyAt, readRegions } from '../../protocol/namespaces/read-policies.js';
import { limitsOfPolicies } from '../../protocol/rules/policies-for-reads.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';
import type { HttpNode } from '../surface/http/http-node.js';
import {
  ADMIN,
  call,
  callerOf,
  GONE,
  HIDDEN,
  ONE,
  OPERATOR,
  open,
  plain,
  READS,
  type Row,
  TWO,
} from './reads.js';

type Node = Pick<HttpNode, 'services'>;

async function setStandard(node: Node, caller: Caller, namespace: string, standard: Row) {
  return call(node, 'memory_namespace_set_standard', { namespace, ...standard }, caller);
}

async function policy(node: Node, namespace: string, governance: Row, more: Row = {}, caller = ADMIN) {
  const set = await setStandard(node, caller, namespace, {
    ...more,
    governance: { write: 'any', ...governance },
  });
  assert.ok(set.ok, JSON.stringify(set));
  return set.value;
}

/** The namespaces whose memories a caller finds in its list. */
async function listed(node: Node, caller: Caller): Promise<readonly string[]> {
  const answer = await call(node, 'memory_list', { limit: 100 }, caller);
  assert.ok(answer.ok, JSON.stringify(answer));
  return (answer.value['memories'] as Row[])
    .map(({ namespace }) => String(namespace))
    .filter((name) => name !== '_agents')
    .sort();
}

async function stored(node: Node, namespaces: readonly string[], caller = ONE) {
  for (const namespace of namespaces) {
    const kept = await call(
      node,
      'memory_store',
      { title: `in ${namespace}`, content: 'a text', namespace },
      caller,
    );
    assert.ok(kept.ok, JSON.stringify(kept));
  }
}

describe('reads of an agent whom a policy keeps from a namespace', { timeout: 120_000 }, () => {
  let node: HttpNode;
  let bare: HttpNode;
  before(async () => {
    node = await open({});
    bare = await open({}, false);
    await policy(node, 'hidden', { read: 'owner' });
  });
  after(async () => {
    await node.close();
    await bare.close();
  });

  for (const [name, input] of READS) {
    it(`${name} ${JSON.stringify(input)} answers as if it were not there`, async () => {
      const [limited, without] = [await call(node, name, input), await call(bare, name, input)];
      assert.deepEqual(plain(limited), plain(without));
      if (!JSON.stringify(input).includes('hidden')) assert.ok(!JSON.stringify(limited).includes('hidden/'));
    });
  }

  it('are those of everybody but the owner of the policy and the operator', async () => {
    for (const caller of [ONE, TWO, callerOf('ai:other', true)])
      assert.deepEqual(await listed(node, caller), ['open']);
    for (const caller of [ADMIN, OPERATOR])
      assert.deepEqual(await listed(node, caller), ['hidden/a', 'open']);
  });

  it('cannot come by the way of a write', async () => {
    for (const [name, input] of [
      ['memory_update', { id: HIDDEN, priority: 9 }],
      ['memory_delete', { id: HIDDEN }],
      ['memory_archive_restore', { id: GONE }],
      ['memory_reflect', { source_ids: [HIDDEN], title: 'x', content: 'y' }],
    ] as const) {
      const [limited, without] = [await call(node, name, input), await call(bare, name, input)];
      assert.deepEqual(plain(limited), plain(without), name);
      assert.ok(!limited.ok, name);
    }
  });

  it('leave a note in the audit chain that names the policy', async () => {
    await node.services.touches.flush();
    const found = await node.services.store.query({ kind: 'newest-audit-rows', limit: 200 });
    assert.ok(found.ok && JSON.stringify(found.value).includes('policy of hidden: read = owner'));
  });
});

describe('a policy about reads', { timeout: 60_000 }, () => {
  let node: HttpNode;
  before(async () => {
    node = await open({}, false);
    await stored(node, ['team', 'team/a', 'team/a/deep', 'team/apart', 'teams', 'other/a']);
  });
  after(() => node.close());

  const EVERY = ['open', 'other/a', 'team', 'team/a', 'team/a/deep', 'team/apart', 'teams'];
  const cleared = async (...namespaces: readonly string[]) => {
    for (const namespace of namespaces)
      assert.ok((await call(node, 'memory_namespace_clear_standard', { namespace }, ADMIN)).ok);
  };

  it('lets registered agents alone read', async () => {
    await policy(node, 'team', { read: 'registered' });
    assert.deepEqual(await listed(node, TWO), ['open', 'other/a', 'teams']);
    const anonymous: Caller = { ...TWO, viewer: { ...TWO.viewer, agentId: null } };
    assert.deepEqual(await listed(node, anonymous), ['open', 'other/a', 'teams']);
    const registered = { agent_id: 'ai:known', agent_type: 'ai:test' };
    assert.ok((await call(node, 'memory_agent_register', registered, OPERATOR)).ok);
    assert.deepEqual(await listed(node, callerOf('ai:known')), EVERY);
    await cleared('team');
    assert.deepEqual(await listed(node, TWO), EVERY);
  });

  it('decides where it is the nearest, with the parents that admins name', async () => {
    await policy(node, 'team/a', { read: 'any' });
    const { excepted } = await policy(node, 'team', { read: 'owner' });
    assert.deepEqual(excepted, [{ namespace: 'team/a', memory: false, gates: ['read'] }]);
    assert.deepEqual(await listed(node, TWO), ['open', 'other/a', 'team/a', 'team/a/deep', 'teams']);
    await policy(node, 'team/a/deep', { read: 'owner' });
    assert.deepEqual(await listed(node, TWO), ['open', 'other/a', 'team/a', 'teams']);
    await cleared('team/a', 'team/a/deep');
    assert.deepEqual(await listed(node, TWO), ['open', 'other/a', 'teams']);

    await policy(node, 'team/apart', {}, { parent: 'free' });
    assert.deepEqual(await listed(node, TWO), ['open', 'other/a', 'team/apart', 'teams']);
    await policy(node, 'team/apart', { inherit: false }, { parent: null });
    assert.deepEqual(await listed(node, TWO), ['open', 'other/a', 'team/apart', 'teams']);
    await policy(node, 'other', {}, { parent: 'team' });
    assert.deepEqual(await listed(node, TWO), ['open', 'team/apart', 'teams']);
    await cleared('team', 'team/apart', 'other');
  });

  it('of everybody keeps all but the namespaces of the service', async () => {
    await policy(node, '*', { read: 'registered' });
    assert.deepEqual(await listed(node, TWO), []);
    const agents = await call(node, 'memory_list', { namespace: '_agents' });
    assert.ok(agents.ok && agents.value['count'] === 1, JSON.stringify(agents));
    await policy(node, 'teams', { read: 'any' });
    assert.deepEqual(await listed(node, TWO), ['teams']);
    await cleared('*', 'teams');
  });

  it('is no affair of agents, who can loosen none either', async () => {
    for (const read of ['any', 'registered', 'owner']) {
      const refused = await setStandard(node, TWO, 'mine', { governance: { write: 'any', read } });
      assert.equal(!refused.ok && refused.error.code, 'FORBIDDEN');
      assert.match(refused.ok ? '' : refused.error.message, /governance\.read: only an admin/);
    }
    const own = await setStandard(node, TWO, 'mine', { governance: { write: 'any', read: null } });
    assert.ok(own.ok, JSON.stringify(own));
    await policy(node, 'mine', { read: 'owner' });
    await stored(node, ['mine'], TWO);
    assert.ok((await listed(node, TWO)).includes('mine'), 'it set the standard first');
    assert.ok(!(await listed(node, ONE)).includes('mine'));
    const refused = await setStandard(node, TWO, 'mine', { governance: { read: null } });
    assert.equal(!refused.ok && refused.error.code, 'FORBIDDEN');
    await cleared('mine');
  });

  it('waits for nobody', async () => {
    const refused = await setStandard(node, ADMIN, 'team', { governance: { write: 'any', read: 'approve' } });
    assert.equal(!refused.ok && refused.error.code, 'VALIDATION_FAILED');
    assert.match(refused.ok ? '' : refused.error.message, /read cannot be approve: no read waits/);
  });

  it('is shown with the others', async () => {
    await policy(node, 'team', { read: 'owner' });
    const shown = await call(node, 'memory_namespace_get_standard', { namespace: 'team' });
    assert.equal(shown.ok && (shown.value['governance'] as Row)['read'], 'owner');
    const capabilities = await call(node, 'memory_capabilities', {}, ADMIN);
    assert.match(JSON.stringify(capabilities), /team — write=any, promote=any, delete=owner, read=owner/);
    await cleared('team');
    assert.equal(DEFAULT_GOVERNANCE['read'], 'any');
  });

  for (const mode of ['advisory', 'off'] as const) {
    it(`keeps nothing in the mode ${mode}`, async () => {
      const loose = await open({ permissionsMode: mode });
      try {
        await policy(loose, 'hidden', { read: 'owner' });
        assert.deepEqual(await listed(loose, TWO), ['hidden/a', 'open']);
        await loose.services.touches.flush();
        const found = await loose.services.store.query({ kind: 'newest-audit-rows', limit: 200 });
        assert.equal(
          found.ok && JSON.stringify(found.value).includes('policy of hidden'),
          mode === 'advisory',
        );
      } finally {
        await loose.close();
      }
    });
  }
});

describe('a policy about reads that a peer sends', { timeout: 60_000 }, () => {
  const trusted = new TestPeer('trusted', 'ai:trusted@host');
  const scoped = new TestPeer('scoped', 'ai:scoped@host');
  let node: ReceiverNode;
  before(async () => {
    node = await openReceiverNode({
      settings: { requireAttestation: false },
      peers: [trusted.asPeer(), scoped.asPeer({ allowedNamespaces: ['team/**'] })],
    });
    await stored(node, ['finance', 'team/x']);
  });
  after(() => node.close());

  const sent = new Map<TestPeer, number>();
  const send = async (
    peer: TestPeer,
    namespace: string,
    operator_set: readonly string[] | null,
    read: unknown,
  ) => {
    const image = {
      ...{ namespace, standard_id: null, parent_namespace: null, set_by: 'ai:evil', operator_set },
      ...{ governance: { write: 'any', read }, updated_at: new Date().toISOString(), rest: {} },
    } as Standard;
    const before = sent.get(peer) ?? 0;
    sent.set(peer, before + 1);
    const seen = before === 0 ? {} : { [peer.origin]: before };
    const change = { kind: 'standard.put', namespace, subject: namespace, seen };
    const operation = peer.operation({}, { ...change, payload: standardKind.payload.text(image) });
    return (await node.send(peer.push(peer.pushOf(operation)))).json;
  };

  it('counts with the mark of an admin or the operator alone', async () => {
    assert.equal((await send(trusted, 'finance', null, 'owner'))['applied'], 1);
    assert.deepEqual(await listed(node, TWO), ['finance', 'team/x']);
    await send(trusted, 'finance', ['governance'], 'owner');
    assert.deepEqual(await listed(node, TWO), ['team/x']);
    await send(trusted, 'finance', ['governance'], 'a later level');
    assert.deepEqual(await listed(node, TWO), ['team/x'], 'what cannot be evaluated keeps');
    await send(trusted, 'finance', ['standard_id'], 'owner');
    assert.deepEqual(await listed(node, TWO), ['finance', 'team/x']);
  });

  it('counts in the scope of the peer alone', async () => {
    for (const namespace of ['finance', '*', '_mesh']) {
      const answer = await send(scoped, namespace, ['governance'], 'owner');
      assert.equal((answer['parked'] as Row[])[0]?.['reason'], 'out_of_scope', namespace);
    }
    assert.deepEqual(await listed(node, TWO), ['finance', 'team/x']);
    await send(scoped, 'team/x', ['governance'], 'owner');
    assert.deepEqual(await listed(node, TWO), ['finance']);
  });
});

describe('the regions of policies', () => {
  const standard = (namespace: string, read: string | null, more: Partial<Standard> = {}): Standard => ({
    ...{ namespace, standard_id: null, parent_namespace: null, set_by: `ai:of-${read}` },
    ...{ operator_set: ['governance', 'parent_namespace'], updated_at: '2026-01-01T00:00:00.000Z', rest: {} },
    governance: read === null ? null : { write: 'any', ...(read === '' ? {} : { read }) },
    ...more,
  });

  it('keep what a look at each namespace keeps', () => {
    // A small generator of its own, so that a failure can be made again.
    let state = 7;
    const below = (max: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * max);
    };
    const names = [
      'a',
      'a/b',
      'a/b/c',
      'a/b.c',
      'a/(x)',
      'ab',
      'b',
      'b/a',
      'b/a/a',
      '_own',
      '_own/a',
      'c/d/e',
    ];
    for (let round = 0; round < 300; round += 1) {
      const standards = ['*', ...names].flatMap((namespace) => {
        if (below(2) === 0) return [];
        const read = ['any', 'registered', 'owner', 'later', '', null][below(6)]!;
        const parent = below(3) === 0 ? names[below(names.length)]! : null;
        const operator_set = below(4) === 0 ? null : ['governance', 'parent_namespace'];
        const made = standard(namespace, read, { parent_namespace: parent, operator_set });
        const inherit = made.governance === null || below(4) > 0 ? {} : { inherit: false };
        return [{ ...made, governance: made.governance && { ...made.governance, ...inherit } }];
      });
      const known = new Map(standards.map((each) => [each.namespace, each]));
      const regions = readRegions(standards);
      for (const reader of [
        { agentId: 'ai:of-owner', isRegistered: false, failOpen: false },
        { agentId: null, isRegistered: true, failOpen: true },
      ]) {
        const { withheld } = limitsOfPolicies(regions, reader);
        for (const name of [...names, 'a/b/c/d', 'a/bc', 'd', '_else']) {
          const { level, owner } = readPolicyAt(name, (at) => known.get(at) ?? null);
          const expected =
            (level === 'registered' && !reader.isRegistered) ||
            (level === 'owner' && owner !== reader.agentId) ||
            (level === 'later' && !reader.failOpen);
          const kept = withheld.some((source) => regexpLike(name, source));
          assert.equal(kept, expected, `round ${round}: ${name} is ${level} of ${owner}`);
        }
      }
    }
  });

  it('are none where no policy is about reads', () => {
    assert.deepEqual(readRegions([standard('a', '', {}), standard('b', null)]), []);
    assert.deepEqual(readRegions([standard('a', 'any')]), []);
  });
});
