import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { aMemory, OPERATOR } from '../../support/memories.js';
import { aRule } from '../../support/rules.js';
import { type HttpNode, openHttpNode } from './http-node.js';

/** What an import may change of what is here, and what only a trusted one brings in. */

type Json = Record<string, unknown>;
const admin = { 'x-agent-id': 'ai:admin' };
const bob = { 'x-agent-id': 'ai:bob' };
const MEMORIES = '/api/v1/memories';

let opened: HttpNode[] = [];
afterEach(async () => {
  for (const node of opened) await node.close();
  opened = [];
});
async function open(): Promise<HttpNode> {
  const node = await openHttpNode({ adminAgentIds: ['ai:admin'], adminHeaderTrust: true });
  opened.push(node);
  return node;
}
async function exported(node: HttpNode): Promise<Json & { memories: Json[] }> {
  const { status, json, text } = await node.send('GET', '/api/v1/export', undefined, admin);
  assert.equal(status, 200, text);
  return json as Json & { memories: Json[] };
}
async function imported(node: HttpNode, body: Json): Promise<Json> {
  const { status, json, text } = await node.send('POST', '/api/v1/import', { memories: [], ...body }, admin);
  assert.equal(status, 200, text);
  return json!;
}
async function store(node: HttpNode, title: string, content: string): Promise<string> {
  const { status, json, text } = await node.send('POST', MEMORIES, { title, content }, bob);
  assert.equal(status, 201, text);
  return json!['id'] as string;
}
async function edit(node: HttpNode, id: string, content: string) {
  // Edits of one millisecond are not told apart.
  await new Promise((resolve) => setTimeout(resolve, 5));
  const { status, text } = await node.send('PUT', `${MEMORIES}/${id}`, { content }, bob);
  assert.equal(status, 200, text);
}
const contents = async (node: HttpNode) =>
  Object.fromEntries((await exported(node)).memories.map((row) => [row['title'], row['content']]));

describe('an import into a node that has the memory', () => {
  for (const trust_source of [false, true]) {
    const how = trust_source ? 'trusted' : 'not trusted';

    it(`ends with the latest text in whatever order two exports come, ${how}`, async () => {
      const from = await open();
      const id = await store(from, 'plan', 'first');
      const early = await exported(from);
      await edit(from, id, 'second');
      const late = await exported(from);
      for (const files of [
        [early, late],
        [late, early],
        [late, early, late, early],
      ]) {
        const to = await open();
        for (const file of files) {
          const { errors, failed } = await imported(to, { ...file, trust_source });
          assert.deepEqual([errors, failed], [[], 0]);
        }
        assert.deepEqual(await contents(to), { plan: 'second' });
        const before = await to.counts();
        const again = await imported(to, { ...late, trust_source });
        assert.deepEqual([again['imported'], again['unchanged'], again['kept']], [1, 1, 0]);
        const old = await imported(to, { ...early, trust_source });
        assert.deepEqual([old['imported'], old['kept'], old['kept_ids']], [0, 1, [id]]);
        assert.deepEqual(await to.counts(), before, 'nothing was written');
      }
    });

    it(`leaves what was edited here since, and takes what was edited there since, ${how}`, async () => {
      const [from, to] = [await open(), await open()];
      const [mine, theirs] = [await store(from, 'mine', 'old'), await store(from, 'theirs', 'old')];
      await imported(to, { ...(await exported(from)), trust_source: true });
      await edit(from, mine, 'edited there');
      await edit(to, mine, 'edited here');
      await edit(from, theirs, 'edited there');
      await to.send('GET', `${MEMORIES}/${theirs}`, undefined, bob);
      const file = { ...(await exported(from)), trust_source };
      const answer = await imported(to, file);
      assert.deepEqual([answer['imported'], answer['kept'], answer['kept_ids']], [1, 1, [mine]]);
      assert.deepEqual(await contents(to), { mine: 'edited here', theirs: 'edited there' });
      const undo = { kind: 'undo-edit', id: theirs, dryRun: false, viewer: OPERATOR, archive: true } as const;
      assert.ok((await to.services.store.execute(undo)).ok);
      assert.equal((await contents(to))['theirs'], 'old', 'the replaced text can be had back');
    });

    it(`leaves another memory with its title alone and names it, ${how}`, async () => {
      const node = await open();
      const id = await store(node, 'plan', 'here');
      const row = { id: 'from-there', title: 'plan', content: 'there', updated_at: new Date().toISOString() };
      const before = await node.counts();
      for (let times = 0; times < 2; times += 1) {
        const answer = await imported(node, { memories: [row], trust_source });
        assert.deepEqual([answer['imported'], answer['failed']], [0, 1]);
        assert.match((answer['errors'] as string[])[0]!, new RegExp(`^memories\\[0\\]: memory ${id} holds`));
      }
      assert.deepEqual(await node.counts(), before);
      const asked = await imported(node, { memories: [row], trust_source, on_conflict: 'merge' });
      assert.deepEqual([asked['imported'], asked['merged']], [1, { 'from-there': id }]);
      assert.deepEqual(await contents(node), { plan: 'there' });
    });

    it(`refuses what says that it was edited after now, ${how}`, async () => {
      const node = await open();
      const id = await store(node, 'plan', 'here');
      for (const date of ['created_at', 'updated_at', 'last_accessed_at']) {
        const row = { id, title: 'plan', content: 'from 2030', [date]: '2030-01-01T00:00:00.000Z' };
        const { errors } = await imported(node, { memories: [row], trust_source });
        assert.match((errors as string[])[0]!, new RegExp(`${date}: .* ahead of the clock`));
      }
      const to = await store(node, 'other', 'x');
      const link = { source_id: id, target_id: to, relation: 'related_to' };
      const dated = { ...link, created_at: '2030-01-01T00:00:00.000Z' };
      assert.equal((await imported(node, { links: [dated], trust_source }))['failed'], 1);
      assert.deepEqual(await contents(node), { plan: 'here', other: 'x' });
    });
  }
});

describe('an import that is not trusted', () => {
  const updated_at = '2026-03-01T00:00:00.000Z';
  const { rest: _, ...rule } = aRule('R9', { updated_at });
  const records: Json[] = [
    {
      ...{ kind: 'standard', id: 'team', namespace: 'team', governance: { write: 'any' }, updated_at },
      ...{ standard_id: null, parent_namespace: null, set_by: 'ai:eve' },
    },
    {
      ...{ kind: 'remembered', id: 'store|ai:eve|team', namespace: 'team', action_type: 'store' },
      ...{ agent_id: 'ai:eve', decision: 'approve', lasts: 'forever', session: '' },
      ...{ decided_by: 'ai:lead', decided_at: updated_at },
    },
    { ...rule, kind: 'rule', id: 'R9', namespace: '_mesh', rule_kind: undefined },
    {
      ...{ kind: 'receipt', id: 'm1', namespace: '_messages/ai:bob', memory_id: 'm1', reader: 'ai:bob' },
      ...{ read_at: updated_at, updated_at },
    },
  ];

  it('brings in nothing that decides or that somebody would have sent, and says what it left out', async () => {
    const node = await open();
    const message = { title: 'urgent', content: 'pay', namespace: '_messages/ai:bob' };
    const memories = [{ title: 'a', content: 'b' }, message];
    const before = await node.counts();
    const answer = await imported(node, { memories, records });
    assert.deepEqual(answer['left_out'], { standard: 1, remembered: 1, rule: 1, receipt: 1, message: 1 });
    assert.deepEqual([answer['imported'], answer['records'], answer['failed']], [1, 0, 0]);
    assert.equal((await node.counts()).operations, before.operations + 1);
    assert.equal((await exported(node))['records'], undefined);
  });

  it('does not change a policy that is here, with whatever date', async () => {
    const node = await open();
    await imported(node, { records: [records[0]!], trust_source: true });
    const later = { ...records[0], governance: { write: 'owner' }, updated_at: new Date().toISOString() };
    const answer = await imported(node, { records: [later] });
    assert.deepEqual(answer['left_out'], { standard: 1 });
    const [stored] = (await exported(node))['records'] as Json[];
    assert.deepEqual(stored!['governance'], { write: 'any' });
  });

  it('brings them in as the operator’s act when it is trusted, except with a date ahead of the clock', async () => {
    const node = await open();
    const ahead = '2030-01-01T00:00:00.000Z';
    const refused = await imported(node, {
      records: [
        { ...records[0], updated_at: ahead },
        { ...records[1], decided_at: ahead },
      ],
      trust_source: true,
    });
    assert.deepEqual([refused['records'], refused['failed']], [0, 2]);
    const taken = await imported(node, {
      records: [records[0]!, records[1]!, records[3]!],
      trust_source: true,
    });
    assert.deepEqual([taken['records'], taken['left_out'], taken['errors']], [3, undefined, []]);
  });
});

describe('a row without dates', () => {
  it('changes nothing that is here, and is told', async () => {
    const node = await open();
    const memory = aMemory({ title: 'one', content: 'here' });
    const command = { kind: 'import-memory', memory, archive: true, viewer: OPERATOR } as const;
    assert.ok((await node.services.store.execute(command)).ok);
    const row = { id: memory.id, title: 'one', content: 'by hand' };
    assert.equal((await imported(node, { memories: [row] }))['kept'], 1);
    assert.deepEqual(await contents(node), { one: 'here' });
  });
});
