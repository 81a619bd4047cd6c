import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { SIGNED_WRITE_FRESHNESS_MS } from '../../protocol/base/limits.js';
import { AGENTS_NAMESPACE, agentTitle } from '../../protocol/identity/agent.js';
import type { SignedEnvelope } from '../../protocol/identity/signed-envelope.js';
import type { ForgetFilter } from '../../protocol/memory/forget-filter.js';
import type { Store } from '../../storage/port.js';
import { aMemory, OPERATOR, storing, tenant } from '../support/memories.js';
import { auditStore, type StoreUnderTest } from './store-contract.js';

const START_MS = Date.parse('2026-03-01T12:00:00.000Z');
const AGENT = 'ai:builder';

/** What every store promises about agents, their keys and their signed writes; run once for each engine. */
export function identityContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`identity contract: ${name}`, () => {
    let under: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      under = await open();
      under.setNow(START_MS);
      store = under.store;
    });
    afterEach(async () => {
      await under.close();
      assert.deepEqual(auditStore(under), [], 'the log and the rows tell the same story');
    });

    const code = (result: { ok: boolean; error?: { code: string } }) =>
      result.ok ? 'ok' : result.error?.code;
    const record = (id: string, agentId = AGENT) =>
      aMemory({
        id,
        tier: 'long',
        namespace: AGENTS_NAMESPACE,
        title: agentTitle(agentId),
        content: 'ai:coder build deploy',
        metadata: { agent_id: agentId, agent_type: 'ai:coder', capabilities: ['build', 'deploy'] },
      });
    const register = (id: string, spareId = 'spare') =>
      store.execute({
        kind: 'register-agent',
        memory: record(id),
        spareId,
        viewer: OPERATOR,
        admin: false,
      });
    const keyOf = async () => {
      const found = await store.query({ kind: 'agent-key', agentId: AGENT });
      return found.ok ? found.value.publicKey : undefined;
    };
    const bind = (publicKey: string) =>
      store.execute({ kind: 'bind-agent-key', agentId: AGENT, publicKey, by: 'ai:admin' });
    const forget = (filter: Partial<ForgetFilter>) =>
      store.execute({
        kind: 'forget-memories',
        by: 'ai:admin',
        filter: { namespace: null, tier: null, pattern: null, throughRid: null, viewer: OPERATOR, ...filter },
        limit: 100,
        archive: true,
      });

    it('takes a signed write once, also when its window closes while it waits, or the clock is set back', async () => {
      await register('one');
      await bind('key');
      const envelope = (fingerprint: string, signedMs: number): SignedEnvelope => ({
        agentId: AGENT,
        fingerprint,
        publicKey: 'key',
        expiresAtMs: signedMs + SIGNED_WRITE_FRESHNESS_MS,
      });
      const first = envelope('first', START_MS);
      const store1 = (title: string, given: SignedEnvelope) =>
        store.execute(storing({ title }, { envelope: given }));
      assert.equal(code(await store1('a', first)), 'ok');
      // Another signed write comes in after the window of the first has closed.
      under.setNow(first.expiresAtMs + 5000);
      assert.equal(code(await store1('b', envelope('second', START_MS + 200_000))), 'ok');
      // The replay was judged while it was fresh, and has waited for its turn.
      assert.equal(code(await store1('c', first)), 'ATTESTATION_REPLAYED');
      under.setNow(START_MS + 1000);
      assert.equal(code(await store1('d', first)), 'ATTESTATION_REPLAYED');
    });

    it('forgets around the records of agents, whatever words they hold', async () => {
      await register('one');
      await bind('key');
      for (const filter of [{ tier: 'long' as const }, { pattern: 'deploy' }, {}]) {
        assert.equal(code(await store.execute(storing({ tier: 'long', content: 'deploy on Sunday' }))), 'ok');
        const counted = await store.query({
          kind: 'count-forgettable',
          filter: {
            namespace: null,
            tier: null,
            pattern: null,
            throughRid: null,
            viewer: OPERATOR,
            ...filter,
          },
          now: new Date(START_MS).toISOString(),
        });
        assert.ok(counted.ok);
        assert.equal(counted.value.count, 1);
        const forgotten = await forget(filter);
        assert.ok(forgotten.ok, JSON.stringify(forgotten));
        assert.equal(forgotten.value.deleted, 1);
      }
      const none = await forget({ namespace: AGENTS_NAMESPACE });
      assert.ok(none.ok);
      assert.equal(none.value.deleted, 0);
      assert.equal(await keyOf(), 'key');
    });

    it('expires around the records of agents that an older database gave an expiry', async () => {
      const gone = new Date(START_MS - 1000).toISOString();
      const old = { ...record('one'), tier: 'mid' as const, expires_at: gone };
      const command = { kind: 'register-agent', spareId: 'spare', viewer: OPERATOR, admin: false } as const;
      assert.equal(code(await store.execute({ ...command, memory: old })), 'ok');
      under.setNow(START_MS - 2000);
      assert.equal(code(await store.execute(storing({ expires_at: gone }))), 'ok');
      under.setNow(START_MS);
      const expired = await store.execute({ kind: 'expire-memories', limit: 100, archive: true });
      assert.ok(expired.ok, JSON.stringify(expired));
      assert.equal(expired.value.expired, 1);
      assert.equal(code(await bind('key')), 'ok');
      assert.equal(await keyOf(), 'key');
    });

    it('registers an agent although another memory has the id that its record would have', async () => {
      const imported = aMemory({ id: 'one', title: 'brought along' });
      assert.equal(
        code(await store.execute({ kind: 'import-memory', memory: imported, archive: true })),
        'ok',
      );
      const registered = await register('one', 'two');
      assert.ok(registered.ok, JSON.stringify(registered));
      assert.deepEqual([registered.value.id, registered.value.created], ['two', true]);
      const again = await register('one', 'three');
      assert.ok(again.ok);
      assert.deepEqual([again.value.id, again.value.created], ['two', false]);
    });

    it('counts links for those alone who may see both ends', async () => {
      const metadata = { agent_id: 'ai:a', scope: 'private' };
      for (const id of ['left', 'right']) {
        assert.equal(code(await store.execute(storing({ id, title: id, metadata }))), 'ok');
      }
      const link = {
        source_id: 'left',
        target_id: 'right',
        relation: 'related_to' as const,
        created_at: new Date(START_MS).toISOString(),
        valid_from: null,
        valid_until: null,
        observed_by: null,
        signature: null,
        attest_level: 'unsigned',
        signed_at: null,
        public_key: null,
        retired_at: null,
        believed_until: null,
        believed_from: null,
        earlier: [],
        rest: {},
      };
      assert.equal(code(await store.execute({ kind: 'import-link', link })), 'ok');
      const counted = async (viewer: typeof OPERATOR) => {
        const stats = await store.query({
          kind: 'store-stats',
          viewer,
          now: new Date(START_MS).toISOString(),
        });
        return stats.ok && stats.value.links_count;
      };
      assert.deepEqual(
        [await counted(OPERATOR), await counted(tenant('ai:a')), await counted(tenant('ai:b'))],
        [1, 1, 0],
      );
    });
  });
}
