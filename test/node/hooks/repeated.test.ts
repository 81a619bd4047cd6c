import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { CALLER, type Fields, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome } from '../../support/hooks.js';

const DENY = JSON.stringify({ action: 'deny', reason: 'closed', code: 403 });

const CALLS: readonly (readonly [operation: string, input: Fields])[] = [
  ['memory_store', { title: 'a note', content: 'x' }],
  ['memory_notify', { target_agent_id: 'ai:b', title: 'a', payload: 'b' }],
];

for (const event of ['pre_store', 'pre_governance_decision'] as const) {
  describe(`a repeated write that ${event} denies`, { timeout: 60_000 }, () => {
    const home = new HookHome();
    const closed = join(home.home, 'closed');
    let node: HookedNode;
    before(async () => {
      // It refuses only while the file is there.
      const guard = home.sh('cat > /dev/null', `if [ -e '${closed}' ]; then printf '%s' '${DENY}'; fi`);
      home.register({ event, command: guard, timeout_ms: 20_000 });
      node = await openHookedNode(home);
    });
    after(() => node.close());

    const send = (operation: string, input: Fields, key: string, again: boolean) =>
      runOperation(
        OPERATIONS.find(({ name }) => name === operation)!,
        { surface: 'mcp', caller: CALLER, input, unknownFields: 'refuse', key, again },
        node.services,
      );

    it('has an unknown outcome where its key has stored another memory', async () => {
      const { id } = await node.run('memory_store', { title: 'to share', content: 'x' });
      const stored = await send('memory_store', { title: 'before', content: 'x' }, 'a used key', false);
      assert.ok(stored.ok, JSON.stringify(stored));
      writeFileSync(closed, '');
      const share = { source_memory_id: id, target_agent_id: 'ai:b' };
      const answer = await send('memory_share', share, 'a used key', true);
      rmSync(closed);
      assert.equal(answer.ok ? 'shared' : answer.error.code, 'ACTOR_RESTARTED');
    });

    for (const [operation, input] of CALLS) {
      it(`is answered as stored where ${operation} has stored it`, async () => {
        const first = await send(operation, input, `key of ${operation}`, false);
        assert.ok(first.ok, JSON.stringify(first));
        writeFileSync(closed, '');
        const second = await send(operation, input, `key of ${operation}`, true);
        rmSync(closed);
        assert.ok(second.ok, JSON.stringify(second));
        assert.equal(second.value['id'], first.value['id']);
      });

      it(`has an unknown outcome where ${operation} finds nothing, and one that is not repeated is denied`, async () => {
        writeFileSync(closed, '');
        const codes: unknown[] = [];
        for (const again of [true, false]) {
          const answer = await send(operation, { ...input, title: 'another' }, `other ${operation}`, again);
          codes.push(answer.ok ? 'stored' : answer.error.code);
        }
        rmSync(closed);
        assert.deepEqual(codes, ['ACTOR_RESTARTED', 'HOOK_VETO']);
      });
    }
  });
}
