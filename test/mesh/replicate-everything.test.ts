import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { encodeCursor } from '../../protocol/log/cursor.js';
import { OPERATOR } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

/** Whatever a node writes must pass at every other: its own signatures, chains and shapes. */

const relay = new TestPeer('a relay');
const nodes: ReceiverNode[] = [];
after(async () => {
  for (const node of nodes) await node.close();
});

async function newNode(): Promise<ReceiverNode> {
  const node = await openReceiverNode({ peers: [relay.asPeer()] });
  nodes.push(node);
  return node;
}

const CALLER: Caller = {
  agentId: 'ai:local',
  claimed: 'explicit',
  viewer: OPERATOR,
  admin: true,
  local: true,
};

/** Runs an operation as a local agent, whose writes the machine signs. */
async function run(node: ReceiverNode, name: string, input: Record<string, unknown>) {
  const operation = OPERATIONS.find((each) => each.name === name);
  assert.ok(operation, name);
  const request = { surface: 'mcp', caller: CALLER, input, unknownFields: 'refuse' } as const;
  const answer = await runOperation(operation, request, node.services);
  assert.ok(answer.ok, `${name}: ${JSON.stringify(answer)}`);
  return answer.value;
}

let titles = 0;
async function store(node: ReceiverNode, input: Record<string, unknown> = {}): Promise<string> {
  titles += 1;
  const stored = await run(node, 'memory_store', {
    title: `title ${titles}`,
    content: `content ${titles}`,
    ...input,
  });
  return (stored['id'] ?? (stored['memory'] as { id: string }).id) as string;
}

/** Carries all that one node has to another, page by page, through a peer between them. */
async function carry(
  from: ReceiverNode,
  to: ReceiverNode,
): Promise<{ operations: number; skipped: number; root: unknown }> {
  let cursor = encodeCursor({});
  let operations = 0;
  let skipped = 0;
  for (let pages = 1; ; pages += 1) {
    assert.ok(pages <= 1000, `there is no end of pages: ${cursor}`);
    const page = await from.send(relay.pull(`cursor=${cursor}&limit=7`));
    assert.equal(page.status, 200);
    const listed = page.json['operations'] as unknown[];
    if (listed.length === 0) return { operations, skipped, root: page.json['root'] };
    const { heads, next_cursor } = page.json;
    const { status, json } = await to.send(relay.push(relay.pushBody({ operations: listed, heads })));
    assert.equal(status, 200);
    assert.deepEqual([json['refused'], json['parked']], [[], []]);
    operations += listed.length;
    skipped += json['skipped'] as number;
    cursor = next_cursor as string;
  }
}

it('every kind of write of one node is applied by another, and both have one root', async () => {
  const [from, to] = [await newNode(), await newNode()];
  const { peerId, machineKey } = from.services;
  to.roster.list = [
    relay.asPeer(),
    relay.asPeer({ peerId, publicKey: machineKey!.publicKey, state: 'departed' }),
  ];
  const edited = await store(from);
  await run(from, 'memory_update', { id: edited, content: 'other content' });
  await run(from, 'memory_undo_edit', { id: edited });
  const tagged = await store(from, { namespace: 'a/b/c' });
  await run(from, 'memory_update', { id: tagged, tags: ['x'], priority: 9 });
  await run(from, 'memory_promote', { id: tagged });
  const held = { valid_from: '2020-01-01', valid_until: '2030-01-01' };
  const [past, present, other] = [await store(from, held), await store(from), await store(from)];
  await run(from, 'memory_update', { id: past, valid_until: '2025-01-01' });
  await run(from, 'memory_link', { source_id: present, target_id: past, relation: 'supersedes' });
  await run(from, 'memory_resolve', { winner: present, loser: other, keep: true });
  await run(from, 'memory_promote', { id: tagged, to_namespace: 'a/b' });
  await run(from, 'memory_store', { title: 'merged', content: 'one' });
  await run(from, 'memory_store', { title: 'merged', content: 'two', on_conflict: 'merge' });
  await run(from, 'memory_store', { title: 'merged', content: 'three', on_conflict: 'version' });
  await run(from, 'memory_delete', { id: await store(from) });
  const archived = await store(from, { metadata: { scope: 'private' } });
  await run(from, 'memory_archive', { ids: [archived] });
  await run(from, 'memory_archive_restore', { id: archived });
  const [winner, loser] = [await store(from), await store(from)];
  await run(from, 'memory_resolve', { winner, loser });
  const sources = [await store(from), await store(from)];
  await run(from, 'memory_consolidate', { ids: sources, title: 'joined' });
  const linked = { source_id: edited, target_id: tagged };
  for (const relation of ['related_to', 'advances', 'reflects_on'])
    await run(from, 'memory_link', { ...linked, relation });
  await run(from, 'memory_kg_invalidate', { ...linked, relation: 'advances' });
  await run(from, 'memory_link', { ...linked, relation: 'advances' });
  await run(from, 'memory_kg_invalidate', { ...linked, relation: 'related_to' });
  await run(from, 'memory_unlink', { ...linked, relation: 'reflects_on' });
  await run(from, 'memory_agent_register', { agent_id: 'ai:local', agent_type: 'ai:generic' });
  await run(from, 'memory_forget', { namespace: 'a/b' });
  const entity = { canonical_name: 'Ada', namespace: 'people' };
  await run(from, 'memory_entity_register', { ...entity, aliases: ['Countess'] });
  const { entity_id } = await run(from, 'memory_entity_register', { ...entity, aliases: ['Augusta'] });
  await run(from, 'memory_update', { id: entity_id, title: 'Ada Lovelace' });
  const standard = {
    namespace: 'a',
    id: winner,
    governance: { write: 'approve', approver: { consensus: 2 } },
  };
  await run(from, 'memory_namespace_set_standard', standard);
  await run(from, 'memory_namespace_set_standard', { namespace: 'b', parent: 'a' });
  await run(from, 'memory_namespace_clear_standard', { namespace: 'b' });
  const exported = { title: 'imported', content: 'from elsewhere' };
  await run(from, 'memory_import', { memories: [exported] });
  await run(from, 'memory_share', { source_memory_id: winner, target_agent_id: 'ai:other' });
  const message = { target_agent_id: 'ai:local', title: 'ready' };
  for (const payload of ['one', 'two']) await run(from, 'memory_notify', { ...message, payload });
  await run(from, 'memory_inbox_read', { all: true });
  await run(from, 'memory_notify', { ...message, payload: 'three' });

  const skillText = '---\nnamespace: team\nname: deploy\ndescription: how\n---\nDo it.\n';
  await run(from, 'memory_skill_register', { inline_skill: skillText });
  const { id: skill } = await run(from, 'memory_skill_register', { inline_skill: skillText });

  const { operations, skipped, root } = await carry(from, to);
  const registered = await run(from, 'memory_skill_get', { skill_id: skill });
  // The node that signed it is no member here.
  const carried = { ...registered, signed: false };
  assert.deepEqual(await run(to, 'memory_skill_get', { skill_id: skill }), carried);
  const asked = { alias: 'countess', namespace: 'people' };
  const found = await run(from, 'memory_entity_get_by_alias', asked);
  assert.deepEqual(await run(to, 'memory_entity_get_by_alias', asked), found);
  assert.deepEqual(found['aliases'], ['Ada Lovelace', 'Ada', 'Countess', 'Augusta']);
  const shown = await run(from, 'memory_namespace_get_standard', { namespace: 'a/b', inherit: true });
  assert.deepEqual(
    await run(to, 'memory_namespace_get_standard', { namespace: 'a/b', inherit: true }),
    shown,
  );
  assert.equal(shown['count'], 1);
  const inbox = await run(from, 'memory_inbox', { agent_id: 'ai:local' });
  assert.deepEqual(await run(to, 'memory_inbox', { agent_id: 'ai:local' }), inbox);
  assert.deepEqual(
    (inbox['messages'] as { payload: string; read: boolean }[]).map(({ payload, read }) => [payload, read]),
    [
      ['three', false],
      ['two', true],
      ['one', true],
    ],
  );
  assert.ok(operations > 20, `only ${operations} operations`);
  assert.equal(skipped, 0);
  const there = await to.send(relay.pull(`cursor=${encodeCursor({ [`${peerId}/x`]: 0 })}`));
  assert.equal(there.status, 200);
  const have = there.json['have'] as Record<string, number>;
  const mine = await to.send(relay.pull(`cursor=${encodeCursor(have)}`));
  assert.equal(mine.json['root'], root);
  assert.notEqual(root, null);
});
