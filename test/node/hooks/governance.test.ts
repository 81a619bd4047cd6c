import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Fields, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome, type NotedEvent } from '../../support/hooks.js';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const DENY = JSON.stringify({ action: 'deny', reason: 'closed', code: 403 });

interface Case {
  readonly name: string;
  /** Stores what the call needs, and answers the operation and its input. */
  readonly given: (node: HookedNode) => Promise<readonly [operation: string, input: Fields]>;
  readonly action: string;
  readonly namespace: string;
}

let stored = 0;
async function memory(node: HookedNode, namespace: string, more: Fields = {}): Promise<string> {
  stored += 1;
  const { id } = await node.run('memory_store', {
    title: `note ${stored}`,
    content: 'x',
    namespace,
    ...more,
  });
  return String(id);
}

/** A link from a memory in `secret` to one in `open`. */
async function linkOf(node: HookedNode): Promise<Fields> {
  const ends = { source_id: await memory(node, 'secret'), target_id: await memory(node, 'open') };
  await node.run('memory_link', ends);
  return { ...ends, relation: 'related_to' };
}

/** The hooks guard `secret`, `secret/**`, messages and shared copies, and nothing else. */
const CASES: readonly Case[] = [
  {
    name: 'an archiving that names an unknown id first',
    given: async (node) => ['memory_archive', { ids: [UNKNOWN, await memory(node, 'secret')] }],
    action: 'archive',
    namespace: 'secret',
  },
  {
    name: 'an archiving of memories of several namespaces',
    given: async (node) => [
      'memory_archive',
      { ids: [await memory(node, 'open'), await memory(node, 'secret')] },
    ],
    action: 'archive',
    namespace: 'secret',
  },
  {
    name: 'a move into a namespace',
    given: async (node) => ['memory_update', { id: await memory(node, 'open'), namespace: 'secret' }],
    action: 'update',
    namespace: 'secret',
  },
  {
    name: 'an undo that moves a memory back',
    given: async (node) => {
      const id = await memory(node, 'secret');
      await node.run('memory_update', { id, namespace: 'open' });
      return ['memory_undo_edit', { id }];
    },
    action: 'update',
    namespace: 'secret',
  },
  {
    name: 'a promotion into a namespace',
    given: async (node) => ['memory_promote', { id: await memory(node, 'secret/x'), to_namespace: 'secret' }],
    action: 'promote',
    namespace: 'secret',
  },
  {
    name: 'a consolidation of its memories into another namespace',
    given: async (node) => [
      'memory_consolidate',
      {
        ids: [await memory(node, 'open'), await memory(node, 'secret')],
        title: `both ${stored}`,
        namespace: 'open',
      },
    ],
    action: 'consolidate',
    namespace: 'secret',
  },
  {
    name: 'a restore',
    given: async (node) => {
      const id = await memory(node, 'secret');
      await node.run('memory_archive', { ids: [id] });
      return ['memory_archive_restore', { id }];
    },
    action: 'restore',
    namespace: 'secret',
  },
  {
    name: 'a forget over the namespaces above it',
    given: async (node) => {
      await memory(node, 'secret/x');
      return ['memory_forget', { namespace: 'secret/**' }];
    },
    action: 'forget',
    namespace: 'secret/**',
  },
  {
    name: 'a forget that names no namespace',
    given: async (node) => {
      await memory(node, 'secret', { tier: 'short' });
      return ['memory_forget', { tier: 'short' }];
    },
    action: 'forget',
    namespace: '',
  },
  {
    name: 'a link to a memory there',
    given: async (node) => [
      'memory_link',
      { source_id: await memory(node, 'open'), target_id: await memory(node, 'secret') },
    ],
    action: 'link',
    namespace: 'secret',
  },
  {
    name: 'an invalidation of a link',
    given: async (node) => ['memory_kg_invalidate', await linkOf(node)],
    action: 'kg_invalidate',
    namespace: 'secret',
  },
  {
    name: 'a deletion of a link',
    given: async (node) => ['memory_unlink', await linkOf(node)],
    action: 'unlink',
    namespace: 'secret',
  },
  {
    name: 'a message',
    given: () => Promise.resolve(['memory_notify', { target_agent_id: 'ai:b', title: 'a', payload: 'b' }]),
    action: 'store',
    namespace: '_messages/ai:b',
  },
  {
    name: 'a shared copy',
    given: async (node) => [
      'memory_share',
      { source_memory_id: await memory(node, 'open'), target_agent_id: 'ai:b' },
    ],
    action: 'store',
    namespace: '_shared/ai:hooked->ai:b',
  },
];

describe('pre_governance_decision meets', { timeout: 120_000 }, () => {
  const home = new HookHome();
  const closed = join(home.home, 'closed');
  const noted = home.noting();
  let node: HookedNode;
  before(async () => {
    // It refuses only while the file is there.
    const guard = home.sh(`"${noted.command}"`, `if [ -e '${closed}' ]; then printf '%s' '${DENY}'; fi`);
    const patterns = ['secret', '_messages/**', '_shared/**'];
    home.register(
      ...patterns.map((namespace) => ({
        event: 'pre_governance_decision' as const,
        command: guard,
        namespace,
        timeout_ms: 20_000,
      })),
    );
    node = await openHookedNode(home);
  });
  after(() => node.close());

  for (const { name, given, action, namespace } of CASES) {
    it(name, async () => {
      const [operation, input] = await given(node);
      const { length: count } = noted.events();
      writeFileSync(closed, '');
      try {
        const refusal = await node.refused(operation, input);
        assert.equal(refusal.code, 'HOOK_VETO');
        assert.deepEqual(heard(noted.events().slice(count)), [[action, namespace]]);
      } finally {
        rmSync(closed);
      }
      await node.run(operation, input);
    });
  }

  it('not what is about other namespaces', async () => {
    const id = await memory(node, 'open');
    const { length: count } = noted.events();
    writeFileSync(closed, '');
    try {
      await node.run('memory_archive', { ids: [UNKNOWN, id] });
      await node.run('memory_forget', { namespace: 'open' });
      assert.deepEqual(heard(noted.events().slice(count)), []);
    } finally {
      rmSync(closed);
    }
  });
});

const heard = (events: readonly NotedEvent[]) =>
  events.map(({ payload }) => [payload['action'], payload['namespace']]);
