import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { canonicalJson } from '../../protocol/base/canonical-json.js';
import * as limits from '../../protocol/base/limits.js';
import type { Memory } from '../../protocol/memory/memory.js';
import { memoryPayload } from '../../protocol/memory/memory-kind.js';
import { aMemory, updating } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';

const peer = new TestPeer('payloads');
let node: ReceiverNode;
afterEach(() => node.close());

/** How an operation that stores a memory with these members is parked; null when it takes effect. */
async function parkedAs(fields: object): Promise<string | null> {
  node = await openReceiverNode({ peers: [peer.asPeer()] });
  const sender = new TestPeer('payloads');
  const memory = aMemory();
  const payload = canonicalJson({ ...JSON.parse(memoryPayload(memory)), ...fields });
  const { id, namespace } = { ...memory, ...fields } as Memory;
  const operation = sender.operation(memory, { payload, subject: id, namespace });
  const { json } = await node.send(sender.push(sender.pushOf(operation)));
  const [parked] = json['parked'] as { reason: string }[];
  return parked?.reason ?? null;
}

const deep = (levels: number): object => (levels === 0 ? {} : { in: deep(levels - 1) });
const later = '2027-01-01T00:00:00.000Z';

describe('the payload of a peer', () => {
  const refused: readonly (readonly [string, object])[] = [
    ['a long content', { content: 'x'.repeat(limits.REPLICATED_CONTENT_BYTES_MAX + 1) }],
    ['a long title', { title: 'x'.repeat(limits.REPLICATED_TITLE_BYTES_MAX + 1) }],
    ['many tags', { tags: Array.from({ length: limits.REPLICATED_TAGS_MAX + 1 }, (_, at) => `t${at}`) }],
    ['an id with a slash', { id: 'a/../b' }],
    ['a long id', { id: 'a'.repeat(4000) }],
    ['no instant of creation', { created_at: 'garbage' }],
    ['an instant that is not canonical', { updated_at: '2027-01-01T00:00:00Z' }],
    ['no instant of expiry', { expires_at: 'zzzz' }],
    ['a version that cannot grow', { version: Number.MAX_SAFE_INTEGER }],
    ['large metadata', { metadata: { text: 'x'.repeat(limits.REPLICATED_JSON_BYTES_MAX) } }],
    ['deep metadata', { metadata: deep(limits.REPLICATED_JSON_DEPTH_MAX + 1) }],
    ['half a character', { content: '\ud800' }],
    ['large members of a later release', { later: 'x'.repeat(limits.REPLICATED_JSON_BYTES_MAX) }],
  ];
  for (const [what, fields] of refused) {
    it(`with ${what} has no effect`, async () => {
      assert.equal(await parkedAs(fields), 'invalid');
    });
  }

  it('may hold more than a local write', async () => {
    const fields = {
      content: 'é'.repeat(limits.CONTENT_BYTES_MAX),
      title: 'x'.repeat(2 * limits.TITLE_LENGTH_MAX),
      tags: Array.from({ length: 2 * limits.TAGS_MAX }, (_, at) => `t${at}`),
      metadata: deep(40),
      expires_at: later,
      version: limits.IMPORT_VERSION_MAX,
    };
    assert.equal(await parkedAs(fields), null);
  });

  it('does not lead to a local write that no peer takes', async () => {
    const { id } = aMemory();
    assert.equal(await parkedAs({ id, version: limits.REPLICATED_VERSION_MAX }), null);
    const updated = await node.services.store.execute(updating(id, { content: 'another' }));
    assert.equal(updated.ok ? null : updated.error.code, 'VALIDATION_FAILED');
  });
});
