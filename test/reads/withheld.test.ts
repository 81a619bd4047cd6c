import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { PermissionRule } from '../../protocol/decide/permissions.js';
import { matchesGlob } from '../../protocol/rules/glob.js';
import { TRUST_ALL } from '../../protocol/rules/rules.js';
import { limitsOfPermissions, limitsOfRules } from '../../protocol/rules/rules-for-reads.js';
import { aRule } from '../support/rules.js';
import type { HttpNode } from '../surface/http/http-node.js';
import {
  ADMIN,
  call,
  GONE,
  HIDDEN,
  ONE,
  OPEN,
  OPERATOR,
  open,
  plain,
  READS,
  type Row,
  TWO,
  WORD,
} from './reads.js';

const DENIED: PermissionRule = {
  ...{ namespacePattern: 'hidden/**', op: 'memory_read' as const, agentPattern: 'ai:two' },
  ...{ decision: 'deny' as const, reason: null },
};

describe('reads of an agent whom a permission rule keeps from a namespace', { timeout: 120_000 }, () => {
  let node: HttpNode;
  let bare: HttpNode;
  before(async () => {
    node = await open({ permissionRules: [DENIED] });
    bare = await open({}, false);
  });
  after(async () => {
    await node.close();
    await bare.close();
  });

  for (const [name, input] of READS) {
    it(`${name} ${JSON.stringify(input)} answers as if it were not there`, async () => {
      const [limited, without] = [await call(node, name, input), await call(bare, name, input)];
      assert.deepEqual(plain(limited), plain(without));
      const named = JSON.stringify(input).includes(HIDDEN) || JSON.stringify(input).includes(GONE);
      if (!named) assert.ok(!JSON.stringify(limited).includes(HIDDEN), 'no id of it');
      if (!JSON.stringify(input).includes('hidden')) assert.ok(!JSON.stringify(limited).includes('hidden/'));
    });
  }

  it('are the same for others, and for the operator', async () => {
    for (const caller of [ONE, OPERATOR]) {
      const listed = await call(node, 'memory_list', {}, caller);
      assert.equal(listed.ok && listed.value['count'], 2);
      assert.ok((await call(node, 'memory_get', { id: HIDDEN }, caller)).ok);
    }
  });

  it('cannot come by the way of a write', async () => {
    const writes: readonly (readonly [string, Row])[] = [
      ['memory_update', { id: HIDDEN, priority: 9 }],
      ['memory_promote', { id: HIDDEN, to_namespace: 'hidden' }],
      ['memory_share', { source_memory_id: HIDDEN, target_agent_id: 'ai:two' }],
      ['memory_consolidate', { ids: [OPEN, HIDDEN], title: 'x', summary: 'y' }],
      ['memory_reflect', { source_ids: [HIDDEN], title: 'x', content: 'y' }],
      ['memory_link', { source_id: OPEN, target_id: HIDDEN, relation: 'related_to' }],
      ['memory_delete', { id: HIDDEN }],
      ['memory_undo_edit', { id: HIDDEN }],
      ['memory_archive_restore', { id: GONE }],
      ['memory_atomise', { memory_id: HIDDEN }],
    ];
    for (const [name, input] of writes) {
      const [limited, without] = [await call(node, name, input), await call(bare, name, input)];
      assert.deepEqual(plain(limited), plain(without), name);
      assert.ok(!limited.ok, name);
    }
  });

  it('leave one note a day in the audit chain', async () => {
    await call(node, 'memory_list', {});
    await call(node, 'memory_list', {});
    await node.services.touches.flush();
    const found = await node.services.store.query({ kind: 'newest-audit-rows', limit: 200 });
    assert.ok(found.ok);
    const notes = JSON.stringify(found.value).split('memory_read').length - 1;
    assert.ok(notes >= 1);
    const lists = JSON.stringify(found.value).split('\\"action\\":\\"memory_list\\"').length - 1;
    assert.equal(lists, 1);
  });
});

describe('a rule about reads', { timeout: 60_000 }, () => {
  let node: HttpNode;
  before(async () => {
    node = await open({});
  });
  after(() => node.close());

  const add = async (id: string, matcher: Row, more: Row = {}) => {
    const rule = { ...aRule(id), rule_kind: 'read_action', matcher, severity: 'refuse', ...more };
    const put = { kind: 'put-rule', rule, replaces: null, by: 'ai:operator' } as never;
    const done = await node.services.store.execute(put);
    assert.ok(done.ok, JSON.stringify(done));
  };
  const drop = async (id: string) => {
    const done = await node.services.store.execute({
      kind: 'remove-rule',
      id,
      signature: null,
      by: 'ai:operator',
    } as never);
    assert.ok(done.ok, JSON.stringify(done));
  };
  const count = async (name: string, input: Row, caller = TWO) => {
    const answer = await call(node, name, input, caller);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value['count'];
  };

  it('counts at once, also for an admin, by its surface, its namespace and its words', async () => {
    assert.equal(await count('memory_list', {}), 2);
    await add('R1', { namespace: 'hidden/**', surface: 'list' });
    assert.equal(await count('memory_list', {}), 1);
    assert.equal(await count('memory_list', {}, ADMIN), 1);
    assert.equal(await count('memory_list', {}, OPERATOR), 2);
    assert.equal(await count('memory_search', { query: WORD }), 2);
    await drop('R1');
    await add('R2', { query_substring: WORD });
    assert.equal(await count('memory_search', { query: WORD }), 0);
    assert.equal(await count('memory_search', { query: 'tower' }), 2);
    await drop('R2');
    await add('R3', { all: true }, { for_namespace: 'hidden' });
    assert.equal(await count('memory_list', {}), 1);
    await drop('R3');
    await add('R4', { namespace: 'hidden/**' }, { severity: 'warn' });
    assert.equal(await count('memory_list', {}), 2);
    await drop('R4');
    await add('R5', { namespace: 'hidden/**' }, { enabled: false });
    assert.equal(await count('memory_list', {}), 2);
    await drop('R5');
  });

  it('that cannot be evaluated keeps everything that it may be about, unless the node lets such reads pass', () => {
    const rule = aRule('R', { rule_kind: 'read_action', matcher: { moon: 'full' }, for_namespace: 'hidden' });
    const read = { operation: 'memory_list', agentId: 'ai:two', query: null };
    const keeps = (failOpen: boolean, namespace: string) =>
      limitsOfRules([rule], read, { ...TRUST_ALL, failOpen }).withheld.some((source) =>
        new RegExp(source).test(namespace),
      );
    assert.deepEqual(
      ['hidden', 'hidden/a', 'hiddens'].map((name) => keeps(false, name)),
      [true, true, false],
    );
    assert.equal(keeps(true, 'hidden/a'), false);
    assert.deepEqual(limitsOfRules([rule], read, { ...TRUST_ALL, isTrusted: () => false }).withheld, []);
  });

  it('holds for an export and its total', async () => {
    const total = async () => {
      const answer = await call(node, 'memory_export', {}, ADMIN);
      assert.ok(answer.ok, JSON.stringify(answer));
      return [answer.value['count'], JSON.stringify(answer.value).includes(HIDDEN)];
    };
    assert.deepEqual(await total(), [2, true]);
    await add('R7', { namespace: 'hidden/**', surface: 'export' });
    assert.deepEqual(await total(), [1, false]);
    await drop('R7');
  });
});

describe('permission rules about reads', () => {
  const rule = (namespacePattern: string, decision: 'allow' | 'deny' | 'ask') => ({
    ...{ namespacePattern, decision, op: 'memory_read' as const, agentPattern: '**', reason: null },
  });
  const read = { operation: 'memory_list', agentId: 'ai:two', query: null };
  const keeps = (rules: Parameters<typeof limitsOfPermissions>[0], namespace: string) =>
    limitsOfPermissions(rules, read).withheld.some((source) => new RegExp(source).test(namespace));

  it('read patterns as other rules do', () => {
    const patterns = ['team', 'team/*', 'team/**', '**', '*', 'te*m/x', 'a.b/**', 'a/**/z', '(x)/*'];
    const names = ['team', 'team/a', 'team/a/b', 'tesm/x', 'a.b/c', 'axb/c', 'a/b/c/z', '(x)/y', 'teams'];
    for (const pattern of patterns)
      for (const name of names)
        assert.equal(keeps([rule(pattern, 'deny')], name), matchesGlob(pattern, name), `${pattern} ${name}`);
  });

  it('let a denial win, and the most exact of the others', () => {
    assert.equal(keeps([rule('team/**', 'ask'), rule('team/open/**', 'allow')], 'team/open/a'), false);
    assert.equal(keeps([rule('team/**', 'ask'), rule('team/open/**', 'allow')], 'team/a'), true);
    assert.equal(keeps([rule('team/**', 'allow'), rule('team/a/**', 'ask')], 'team/a/b'), true);
    assert.equal(keeps([rule('team/**', 'deny'), rule('team/open/**', 'allow')], 'team/open/a'), true);
  });

  for (const mode of ['advisory', 'off'] as const) {
    it(`keep nothing in the mode ${mode}`, async () => {
      const node = await open({ permissionRules: [DENIED], permissionsMode: mode });
      try {
        const listed = await call(node, 'memory_list', {});
        assert.equal(listed.ok && listed.value['count'], 2);
      } finally {
        await node.close();
      }
    });
  }
});
