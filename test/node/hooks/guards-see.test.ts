import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { type Fields, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome } from '../../support/hooks.js';

const MARK = 'ferryman';

/** A text of each member of a store that holds text, with the mark in it. */
const TEXTS: Readonly<Record<string, unknown>> = {
  title: `${MARK} title`,
  content: `${MARK} content`,
  namespace: `harbour/${MARK}`,
  tags: [`${MARK}-tag`],
  metadata: { note: `${MARK} metadata` },
  source: `${MARK}-source`,
  source_uri: `doc:${MARK}`,
  citations: [{ uri: `https://${MARK}.example`, accessed_at: '2026-01-01T00:00:00Z' }],
  entity_id: `ent-${MARK}`,
  conversation: `chat with ${MARK}`,
};
/** Members that hold no text of the caller: words of a list, numbers, instants, and what the service decides by. */
const WITHOUT_TEXT = new Set([
  ...[
    'tier',
    'priority',
    'confidence',
    'ttl_secs',
    'expires_at',
    'valid_from',
    'valid_until',
    'agent_id',
    'scope',
    'kind',
    'on_conflict',
  ],
  ...['source_span', 'force', 'detect_conflicts', 'id', 'expected_version', 'signature', 'created_at'],
  ...['recall_id', 'sign', 'turn'],
]);

describe('a guard of what is stored', { timeout: 60_000 }, () => {
  const nodes: HookedNode[] = [];
  after(() => Promise.all(nodes.map((node) => node.close())));

  async function open() {
    const home = new HookHome();
    const hook = home.noting('');
    home.register({ event: 'pre_store', command: hook.command });
    const node = await openHookedNode(home);
    nodes.push(node);
    return { node, seen: () => JSON.stringify(hook.events().at(-1)?.payload) };
  }

  it('knows every member of a store that holds text', () => {
    const { input } = OPERATIONS.find(({ name }) => name === 'memory_store')!;
    const unknown = Object.keys(input.shape).filter((name) => !(name in TEXTS) && !WITHOUT_TEXT.has(name));
    assert.deepEqual(unknown, [], 'say here whether these members hold text');
  });

  for (const [member, value] of Object.entries(TEXTS)) {
    it(`sees ${member} of a store, of a row of a bulk and of an update`, async () => {
      const { node, seen } = await open();
      const note: Fields = { title: 'plain', content: 'plain', [member]: value };
      const stored = await node.call('memory_store', note);
      if (!stored.ok && member === 'citations') assert.fail(JSON.stringify(stored));
      assert.ok(stored.ok, JSON.stringify(stored));
      assert.ok(seen().includes(MARK), seen());
      await node.run('memory_store_bulk', { memories: [{ ...note, title: `${String(note['title'])} 2` }] });
      assert.ok(seen().includes(MARK), seen());
      // A memory stays with its entity and in its conversation.
      if (member === 'entity_id' || member === 'conversation') return;
      await node.run('memory_update', { id: stored.value['id'], [member]: value });
      assert.ok(seen().includes(MARK), seen());
    });
  }
});
