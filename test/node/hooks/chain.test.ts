import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { HOOK_CHILDREN_MAX, HOOK_WAITING_MAX } from '../../../actors/hooks/limits.js';
import { detailsOf } from '../../../protocol/base/result.js';
import { bindKey } from '../../support/agents.js';
import { CALLER, type Fields, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome } from '../../support/hooks.js';
import { tenant } from '../../support/memories.js';
import { aRule } from '../../support/rules.js';
import { agentKey, signedStoreBody } from '../../support/signing.js';
import { until } from '../../support/wait.js';

const nodes: HookedNode[] = [];
after(() => Promise.all(nodes.map((node) => node.close())));

async function open(home: HookHome): Promise<HookedNode> {
  const node = await openHookedNode(home);
  nodes.push(node);
  return node;
}

const NOTE = { title: 'Deploy window', content: 'Sundays' };
const allow = '{"action":"allow"}';
const deny = (code = 403) => JSON.stringify({ action: 'deny', reason: 'a secret', code });
const modify = (delta: Fields) => JSON.stringify({ action: 'modify', delta });
const ask = (fields: Fields = {}) =>
  JSON.stringify({ action: 'ask_user', prompt: 'May it?', options: ['allow', 'deny'], ...fields });

describe('hooks before a store', { timeout: 120_000 }, () => {
  it('hear what is stored, and nothing of it changes when they allow', async () => {
    const home = new HookHome();
    const hook = home.noting();
    home.register({ event: 'pre_store', command: hook.command });
    const node = await open(home);
    const stored = await node.run('memory_store', { ...NOTE, namespace: 'team' });
    assert.equal(stored['title'], 'Deploy window');
    assert.deepEqual(hook.events(), [
      {
        event: 'pre_store',
        payload: {
          ...{ tier: 'mid', title: 'Deploy window', content: 'Sundays', tags: [], priority: 5 },
          ...{ confidence: 1, metadata: {}, namespace: 'team' },
        },
      },
    ]);
  });

  it('rewrite it, each what the one before has left, in the order of their priority', async () => {
    const home = new HookHome();
    const low = home.noting(modify({ title: 'Low' }));
    const high = home.noting(modify({ title: 'High', tags: ['hooked'] }));
    home.register(
      { event: 'pre_store', command: low.command, priority: 1 },
      { event: 'pre_store', command: high.command, priority: 9 },
    );
    const node = await open(home);
    const stored = await node.run('memory_store', NOTE);
    const { memory } = (await node.run('memory_get', { id: stored['id'] })) as { memory: Fields };
    assert.deepEqual([memory['title'], memory['tags']], ['Low', ['hooked']]);
    assert.equal(high.events()[0]?.payload['title'], 'Deploy window');
    assert.equal(low.events()[0]?.payload['title'], 'High');
  });

  it('keep the order of the file where their priorities are equal', async () => {
    const home = new HookHome();
    home.register(
      { event: 'pre_store', command: home.noting(modify({ title: 'First' })).command },
      { event: 'pre_store', command: home.noting(modify({ title: 'Second' })).command },
    );
    const node = await open(home);
    assert.equal((await node.run('memory_store', NOTE))['title'], 'Second');
  });

  it('deny it with a code, which ends the chain, and the denial is recorded and signed', async () => {
    const home = new HookHome();
    const later = home.noting();
    home.register(
      { event: 'pre_store', command: home.noting(deny(451)).command, priority: 1 },
      { event: 'pre_store', command: later.command },
    );
    const node = await open(home);
    const { code, details } = await node.refused('memory_store', NOTE);
    assert.equal(code, 'HOOK_VETO');
    assert.deepEqual(details, { event: 'pre_store', reason: 'a secret', hook_code: 451 });
    assert.deepEqual(later.events(), []);
    assert.deepEqual((await node.run('memory_list', {}))['memories'], []);
    const chain = await node.run('verify_signed_events_chain', {});
    assert.deepEqual([chain['chain_holds'], chain['rows_checked'], chain['unsigned']], [true, 1, 0]);
  });

  it('cannot write what a caller could not', async () => {
    const home = new HookHome();
    home.register({ event: 'pre_store', command: home.noting(modify({ priority: 99 })).command });
    const node = await open(home);
    const { code, message } = await node.refused('memory_store', NOTE);
    assert.equal(code, 'VALIDATION_FAILED');
    assert.match(message, /a hook of pre_store rewrote the call.*priority/);
  });

  it('are those whose pattern matches the namespace, also after a hook has moved the memory', async () => {
    const home = new HookHome();
    const secret = home.noting(deny());
    home.register(
      { event: 'pre_store', command: secret.command, namespace: 'secret/**' },
      {
        event: 'pre_store',
        command: home.noting(modify({ namespace: 'secret/a' })).command,
        namespace: 'in',
        priority: 1,
      },
    );
    const node = await open(home);
    assert.equal((await node.run('memory_store', { ...NOTE, namespace: 'open' }))['namespace'], 'open');
    assert.deepEqual(secret.events(), []);
    for (const namespace of ['secret/x/y', 'in'])
      assert.equal((await node.refused('memory_store', { ...NOTE, namespace })).code, 'HOOK_VETO');
  });

  it('also guard a change of a memory', async () => {
    const home = new HookHome();
    const guard = home.node(
      `let text = '';`,
      `process.stdin.on('data', (piece) => { text += piece; }).on('end', () => {`,
      `  const { payload } = JSON.parse(text);`,
      `  if (/hunter2/.test(payload.content)) console.log('${deny()}');`,
      `});`,
    );
    home.register({ event: 'pre_store', command: guard });
    const node = await open(home);
    const { id } = await node.run('memory_store', NOTE);
    assert.equal((await node.refused('memory_update', { id, content: 'it is hunter2' })).code, 'HOOK_VETO');
    await node.run('memory_update', { id, content: 'nothing secret' });
  });

  it('refuse a rewrite of what the author has signed, and take one of the rest', async () => {
    const home = new HookHome();
    home.register(
      { event: 'pre_store', command: home.noting(modify({ title: 'Other' })).command, namespace: 'title' },
      { event: 'pre_store', command: home.noting(modify({ tags: ['hooked'] })).command, namespace: 'tags' },
    );
    const node = await open(home);
    const key = agentKey('ai:author');
    await bindKey(node.services.store, key);
    const author = { ...CALLER, agentId: key.agentId, viewer: tenant(key.agentId), local: false };
    const store = (namespace: string) => {
      const { agent_id: _, ...body } = signedStoreBody(key, { ...NOTE, namespace }, new Date().toISOString());
      return node.call('memory_store', body, author);
    };
    const refused = await store('title');
    assert.equal(refused.ok ? '' : refused.error.code, 'ATTESTATION_FAILED');
    assert.match(
      refused.ok ? '' : refused.error.message,
      /a hook rewrote title, which the author has signed/,
    );
    const stored = await store('tags');
    assert.ok(stored.ok, JSON.stringify(stored));
    const { memory } = (await node.run('memory_get', { id: stored.value['id'] })) as { memory: Fields };
    assert.deepEqual(memory['tags'], ['hooked']);
    assert.equal((memory['metadata'] as Fields)['attest_level'], 'agent_attested');
  });

  it('rewrite before the machine signs', async () => {
    const home = new HookHome();
    home.register({ event: 'pre_store', command: home.noting(modify({ content: 'rewritten' })).command });
    const node = await open(home);
    const { id } = await node.run('memory_store', NOTE);
    const { memory } = (await node.run('memory_get', { id })) as { memory: Fields };
    assert.equal(memory['content'], 'rewritten');
    assert.equal((memory['metadata'] as Fields)['attest_level'], 'agent_attested');
  });

  it('decide about each row of a bulk', async () => {
    const home = new HookHome();
    home.register({ event: 'pre_store', command: home.noting(deny()).command, namespace: 'secret' });
    const node = await open(home);
    const rows = ['a', 'secret', 'b'].map((namespace) => ({ ...NOTE, namespace }));
    const { created, results } = await node.run('memory_store_bulk', { memories: rows });
    assert.equal(created, 2);
    assert.deepEqual(
      (results as Fields[]).map((row) => row['code']),
      [undefined, 'HOOK_VETO', undefined],
    );
  });

  it('are not started where a rule of the operator refuses their program', async () => {
    const home = new HookHome();
    const { command, events } = home.noting();
    home.register(
      { event: 'pre_store', command },
      { event: 'pre_store', command, namespace: 'closed', fail_mode: 'closed' },
    );
    const node = await open(home);
    const rule = aRule('R1', { rule_kind: 'process_spawn', matcher: { binary: command } });
    const put = await node.services.store.execute({
      kind: 'put-rule',
      rule,
      replaces: null,
      by: 'ai:operator',
    });
    assert.ok(put.ok, JSON.stringify(put));
    await node.run('memory_store', NOTE);
    const refused = await node.refused('memory_store', { ...NOTE, namespace: 'closed' });
    const details = detailsOf(refused, 'HOOK_VETO');
    assert.equal(details?.hook_code, 503);
    assert.equal(details?.reason, 'a hook that must agree failed');
    const { hooks } = (await node.run('hook_list', {})) as { hooks: readonly Fields[] };
    for (const hook of hooks) assert.equal(hook['last_problem'], 'the rule R1 refuses to start it');
    assert.deepEqual(events(), []);
  });

  for (const fail_mode of ['closed', 'open'] as const)
    it(`answer OVERLOADED where one that is ${fail_mode} has no room, or gets none in time`, () =>
      withoutRoom(fail_mode));

  async function withoutRoom(fail_mode: 'closed' | 'open') {
    const home = new HookHome();
    home.register({ event: 'pre_store', command: home.sh('sleep 1'), fail_mode, timeout_ms: 3000 });
    const node = await open(home);
    const calls = HOOK_CHILDREN_MAX + HOOK_WAITING_MAX + 1;
    const codes = await Promise.all(
      Array.from({ length: calls }, async (_, n) => {
        const answer = await node.call('memory_store', { ...NOTE, title: `note ${n}` });
        return answer.ok ? 'stored' : answer.error.code;
      }),
    );
    const stored = codes.filter((code) => code === 'stored').length;
    assert.ok(stored >= HOOK_CHILDREN_MAX && stored < 6 * HOOK_CHILDREN_MAX, `${stored} stored`);
    assert.equal(codes.filter((code) => code === 'OVERLOADED').length, calls - stored);
    const { memories } = (await node.run('memory_list', { limit: 1000 })) as { memories: Fields[] };
    assert.equal(memories.length, stored);
  }
});

describe('a hook that fails', { timeout: 120_000 }, () => {
  const failures: readonly (readonly [string, (home: HookHome) => string, number])[] = [
    ['crashes', (home) => home.sh('exit 3'), 503],
    ['writes no JSON', (home) => home.sh('echo no'), 503],
    ['writes a list', (home) => home.sh('echo [1]'), 503],
    ['names no action', (home) => home.sh(`echo '{"reason":"x"}'`), 503],
    ['floods', (home) => home.sh('exec cat /dev/zero'), 503],
    ['does not exist', () => '/no/such/hook', 503],
    ['rewrites a member that is not there', (home) => home.noting(modify({ kind: 'decision' })).command, 503],
    ['hangs', (home) => home.sh('sleep 30 & wait'), 504],
  ];
  for (const [how, command, hookCode] of failures) {
    it(`and ${how} has no say when it is fail-open, and denies when it is fail-closed`, async () => {
      const home = new HookHome();
      const script = command(home);
      const entry = { event: 'pre_store', command: script, timeout_ms: 1500 } as const;
      home.register({ ...entry, namespace: 'open' }, { ...entry, namespace: 'closed', fail_mode: 'closed' });
      const node = await open(home);
      await node.run('memory_store', { ...NOTE, namespace: 'open' });
      const refused = await node.refused('memory_store', { ...NOTE, namespace: 'closed' });
      assert.equal(refused.code, 'HOOK_VETO');
      assert.equal(detailsOf(refused, 'HOOK_VETO')?.hook_code, hookCode);
      const { hooks } = (await node.run('hook_list', {})) as { hooks: readonly Fields[] };
      assert.deepEqual(
        hooks.map((hook) => [hook['events_fired'], hook['events_dropped']]),
        [
          [1, 1],
          [1, 1],
        ],
      );
      assert.equal(typeof hooks[0]?.['last_problem'], 'string');
    });
  }

  it('takes nothing of the time of its class from others than those after it', async () => {
    const home = new HookHome();
    const last = home.noting(deny());
    home.register(
      { event: 'pre_search', command: home.sh('sleep 30'), timeout_ms: 30_000, priority: 1 },
      { event: 'pre_search', command: last.command, fail_mode: 'closed' },
    );
    const node = await open(home);
    const beganMs = performance.now();
    const refused = await node.refused('memory_search', { query: 'x' });
    const tookMs = performance.now() - beganMs;
    assert.ok(tookMs > 1900 && tookMs < 10_000, `${tookMs} ms`);
    assert.equal(detailsOf(refused, 'HOOK_VETO')?.hook_code, 504);
  });
});

describe('a question of a hook', { timeout: 120_000 }, () => {
  const withAsk = async (fields: Fields, ...more: readonly string[]) => {
    const home = new HookHome();
    const commands = [ask(fields), ...more];
    home.register(
      ...commands.map((said, at) => ({
        event: 'pre_store' as const,
        command: home.noting(said).command,
        priority: -at,
      })),
    );
    return open(home);
  };

  it('is answered by its default where no operator can answer', async () => {
    const permitting = await withAsk({ default: 'allow' });
    await permitting.run('memory_store', NOTE);
    for (const fields of [{ default: 'deny' }, { default: 'No' }, {}]) {
      const node = await withAsk(fields);
      const { code, message } = await node.refused('memory_store', NOTE);
      assert.equal(code, 'HOOK_VETO');
      assert.match(message, /only while a daemon runs/);
    }
  });

  it('is taken back by a later allow or modify, and not by a later question', async () => {
    for (const later of [allow, modify({ tags: ['x'] })]) {
      const node = await withAsk({ default: 'deny' }, later);
      await node.run('memory_store', NOTE);
    }
    const node = await withAsk({ default: 'allow' }, ask({ default: 'deny' }));
    assert.equal((await node.refused('memory_store', NOTE)).code, 'HOOK_VETO');
  });

  it('stays when a later hook says nothing, or an object without members', async () => {
    for (const later of ['', ' \n', '{}']) {
      const node = await withAsk({ default: 'deny' }, later);
      assert.equal((await node.refused('memory_store', NOTE)).code, 'HOOK_VETO', JSON.stringify(later));
    }
  });
});

describe('hooks of reads', { timeout: 120_000 }, () => {
  it('rewrite a query, and a denial empties the recall', async () => {
    const home = new HookHome();
    home.register(
      {
        event: 'pre_recall',
        command: home.noting(modify({ query: 'ferry', limit: 1 })).command,
        namespace: 'harbour',
      },
      { event: 'pre_recall', command: home.noting(deny(418)).command, namespace: 'closed' },
    );
    const node = await open(home);
    for (const title of ['one', 'two'])
      await node.run('memory_store', {
        title: `ferry ${title}`,
        content: 'the ferry leaves',
        namespace: 'harbour',
      });
    const found = await node.run('memory_recall', { context: 'train', namespace: 'harbour' });
    assert.equal(found['count'], 1);
    const denied = await node.run('memory_recall', { context: 'ferry', namespace: 'closed' });
    assert.deepEqual([denied['memories'], denied['count'], denied['mode']], [[], 0, 'denied_by_hook']);
    assert.deepEqual((denied['meta'] as Fields)['diagnostic'], {
      pre_recall_denied: { reason: 'a secret', code: 418 },
    });
    await until('the denial is recorded', async () => {
      const chain = await node.run('verify_signed_events_chain', {});
      return chain['rows_checked'] === 1;
    });
  });

  it('widen a query on the hot path with a program that stays', async () => {
    const home = new HookHome();
    const delta = { content: 'ferry', namespace: 'harbour', priority: 1 };
    const command = home.node(
      `require('node:readline').createInterface({ input: process.stdin }).on('line', () => {`,
      `  console.log('${modify(delta)}');`,
      `});`,
    );
    home.register({ event: 'pre_recall_expand', command, mode: 'daemon' });
    const node = await open(home);
    for (const title of ['one', 'two'])
      await node.run('memory_store', {
        title: `ferry ${title}`,
        content: 'the ferry leaves',
        namespace: 'harbour',
      });
    // The program may not have started yet when the first recall comes.
    await until('the query is widened', async () => {
      const found = await node.run('memory_recall', { context: 'train', namespace: 'rail' });
      return found['count'] === 1;
    });
  });

  it('go on when their hook is slow', async () => {
    const home = new HookHome();
    home.register({ event: 'pre_recall_expand', command: home.sh('sleep 30'), mode: 'exec' });
    const node = await open(home);
    const beganMs = performance.now();
    const found = await node.run('memory_recall', { context: 'ferry' });
    assert.equal(found['count'], 0);
    assert.ok(performance.now() - beganMs < 1500);
  });
});
