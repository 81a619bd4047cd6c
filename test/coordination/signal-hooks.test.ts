import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type HookedNode, openHookedNode } from '../support/hooked-node.js';
import { HookHome } from '../support/hooks.js';

const SIGNAL = { namespace: 'team', subject: 'ready', to_agent: 'ai:bob' };

describe('a hook before signals', () => {
  const nodes: HookedNode[] = [];
  after(() => Promise.all(nodes.map((node) => node.close())));

  async function open(said: object): Promise<HookedNode> {
    const home = new HookHome();
    home.register({ event: 'pre_signal_send', command: home.noting(JSON.stringify(said)).command });
    const node = await openHookedNode(home);
    nodes.push(node);
    return node;
  }
  const stored = async ({ services }: HookedNode) => {
    const found = await services.store.query({
      ...{
        kind: 'find-records',
        of: 'signal',
        where: { namespace: 'team' },
        limit: 9,
        viewer: null,
        now: '',
      },
    });
    return found.ok ? found.value.rows.length : null;
  };

  it('refuses one with its code and reason', async () => {
    const node = await open({ action: 'deny', reason: 'names a customer', code: 451 });
    const { code, message, details } = await node.refused('memory_signal_send', SIGNAL);
    assert.equal(code, 'HOOK_VETO');
    assert.equal(message, 'signal refused by pre_signal_send hook (code 451): names a customer');
    assert.deepEqual(details, { event: 'pre_signal_send', reason: 'names a customer', hook_code: 451 });
    assert.equal(await stored(node), 0);
  });

  it('refuses one that it asks the operator about', async () => {
    const node = await open({ action: 'ask_user', prompt: 'may it go?', options: ['yes', 'no'] });
    const { code, message } = await node.refused('memory_signal_send', SIGNAL);
    assert.equal(code, 'HOOK_VETO');
    assert.equal(message, 'signal pending operator decision (pre_signal_send AskUser): may it go?');
    assert.equal(await stored(node), 0);
  });

  it('rewrites one before it is signed, as far as a caller could have sent it', async () => {
    const node = await open({ action: 'modify', delta: { subject: 'rewritten', to_agent: 'ai:carol' } });
    const { signal } = await node.run('memory_signal_send', SIGNAL);
    const { id, subject, to_agent } = signal as Record<string, unknown>;
    assert.deepEqual([subject, to_agent], ['rewritten', 'ai:carol']);
    assert.equal((await node.run('memory_signal_read', { id }))['verified'], true);
    const wrong = await open({ action: 'modify', delta: { signal_type: 'shout' } });
    const { code, message } = await wrong.refused('memory_signal_send', SIGNAL);
    assert.equal(code, 'VALIDATION_FAILED');
    assert.match(message, /a hook of pre_signal_send rewrote the call/);
  });
});
