import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { SettingFlags } from '../../node/config/load-settings.js';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import type { PermissionRule } from '../../protocol/decide/permissions.js';
import { matchesGlob } from '../../protocol/rules/glob.js';
import { TRUST_ALL } from '../../protocol/rules/rules.js';
import { limitsOfPermissions, limitsOfRules } from '../../protocol/rules/rules-for-reads.js';
import { aRule } from '../support/rules.js';
import { type HttpNode, openHttpNode } from '../surface/http/http-node.js';

type Row = Record<string, unknown>;

const WORD = 'kestrel';
const idOf = (n: number) => `00000000-0000-4000-8000-0000000000${String(n).padStart(2, '0')}`;
const [OPEN, HIDDEN, GONE] = [idOf(1), idOf(2), idOf(3)];
const OPERATOR: Caller = {
  ...{ agentId: 'ai:operator', claimed: 'explicit', admin: true, local: true },
  viewer: { all: true, agentId: null, asNamespace: null },
};
const callerOf = (agentId: string, all = false): Caller => ({
  ...{ agentId, claimed: 'explicit', admin: all, local: false },
  viewer: { all, agentId, asNamespace: null },
});
const [ONE, TWO, ADMIN] = [callerOf('ai:one'), callerOf('ai:two'), callerOf('ai:admin', true)];

const DENIED: PermissionRule = {
  ...{ namespacePattern: 'hidden/**', op: 'memory_read' as const, agentPattern: 'ai:two' },
  ...{ decision: 'deny' as const, reason: null },
};

async function call(node: HttpNode, name: string, input: Row, caller = TWO) {
  const operation = OPERATIONS.find((known) => known.name === name)!;
  return runOperation(operation, { surface: 'http', caller, input, unknownFields: 'refuse' }, node.services);
}

async function open(settings: SettingFlags, withHidden = true): Promise<HttpNode> {
  const node = await openHttpNode(settings);
  const row = (id: string, namespace: string, n: number) => ({
    ...{ id, namespace, title: `${WORD} ${n}`, content: `the ${WORD} nests in tower ${n}`, tags: ['bird'] },
    metadata: { agent_id: 'ai:one' },
  });
  const hidden = withHidden ? [row(HIDDEN, 'hidden/a', 2), row(GONE, 'hidden/b', 3)] : [];
  const memories = [row(OPEN, 'open', 1), ...hidden];
  const links = withHidden ? [{ source_id: OPEN, target_id: HIDDEN, relation: 'related_to' }] : [];
  const imported = await call(node, 'memory_import', { memories, links, trust_source: true }, OPERATOR);
  assert.ok(imported.ok && imported.value['failed'] === 0, JSON.stringify(imported));
  if (withHidden) assert.ok((await call(node, 'memory_archive', { ids: [GONE] }, ONE)).ok);
  return node;
}

/** Every read of memories, as the agent asks it. */
const READS: readonly (readonly [string, Row])[] = [
  ['memory_recall', { context: WORD }],
  ['memory_recall', { context: WORD, namespace: 'hidden/a' }],
  ['memory_recall', { context: WORD, namespace: 'hidden/**', include_archived: true }],
  ['memory_search', { query: WORD, include_archived: true }],
  ['memory_list', {}],
  ['memory_list', { namespace: 'hidden/**' }],
  ['memory_list', { limit: 1 }],
  ['memory_get', { id: OPEN }],
  ['memory_get', { id: HIDDEN }],
  ['memory_get', { id: GONE }],
  ['memory_history', { id: HIDDEN }],
  ['memory_get_links', { id: OPEN }],
  ['memory_get_links', { id: HIDDEN }],
  ['memory_kg_query', { source_id: OPEN, max_depth: 3 }],
  ['memory_kg_timeline', { source_id: OPEN }],
  ['memory_find_paths', { source_id: OPEN, target_id: HIDDEN }],
  ['memory_lineage', { id: HIDDEN }],
  ['memory_dependents_of_invalidated', { memory_id: HIDDEN }],
  ['memory_get_taxonomy', {}],
  ['memory_namespaces', {}],
  ['memory_stats', {}],
  ['memory_session_start', {}],
  ['memory_archive_list', {}],
  ['memory_archive_stats', {}],
  ['memory_check_duplicate', { title: `${WORD} 2`, content: `the ${WORD} nests in tower 2` }],
  ['memory_contradictions', { topic: WORD }],
  ['memory_export', {}],
  ['memory_replay', { memory_id: HIDDEN }],
  ['memory_reflection_origin', { memory_id: HIDDEN }],
  ['memory_load_family', { family: 'core' }],
];

/** What may differ between two nodes: moments, sizes of files, scores that follow from how many rows there are, names of calls. */
const VARYING =
  /^(?:.*_at|score|recall_id|db_size_bytes|.*_ms|as_of|.*bytes.*|rank|age.*|attested_by|meta|tokens_used|confidence.*|cursor|next_cursor|similarity|session_id)$/;
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (VARYING.test(key) ? [] : [[key, plain(member)]])),
  );
}

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
