import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../protocol/chain.js';
import { adoptionKind } from '../../protocol/decide/adoption-kind.js';
import { DEFAULT_NODE_POLICY } from '../../protocol/decide/node-policy.js';
import { linkKind } from '../../protocol/links/link-kind.js';
import { memoryKind } from '../../protocol/memory/memory-kind.js';
import { standardKind } from '../../protocol/memory/standard-kind.js';
import { checkForwardedReply } from '../../protocol/wire/forward.js';
import { aMemory } from '../support/memories.js';
import { UNGOVERNED } from './decide/answerer.js';

const link = { source_id: 'a', target_id: 'b', relation: 'related_to' };
const memory = aMemory({});
const adoption = { peer_id: 'peer-b', home: 'peer-c', number: 1, adopted_at: '', adopted_by: '' };

describe('a payload of a peer', () => {
  it('is refused where the row would give back something else', () => {
    assert.notEqual(linkKind.payload.parse(link), null);
    for (const wrong of [
      { source_id: 'a|b' },
      { target_id: 'b|c' },
      { signature: 'YQ' },
      { signature: 'YR==' },
      { observed_by: '\ud800' },
    ]) {
      assert.equal(linkKind.payload.parse({ ...link, ...wrong }), null, JSON.stringify(wrong));
    }
    for (const wrong of [{ title: '\ud800' }, { source: 'a\udc00' }, { tags: ['\ud800'] }]) {
      assert.equal(memoryKind.payload.parse({ ...memory, ...wrong }), null, JSON.stringify(wrong));
    }
  });

  it('is refused with a member that imports refuse', () => {
    const standard = JSON.parse('{"namespace":"team","__proto__":{"x":1}}') as object;
    assert.equal(standardKind.payload.parse(standard), null);
  });

  it('names a home that can be, under a number that leaves room for the next', () => {
    assert.notEqual(adoptionKind.payload.parse(adoption), null);
    for (const wrong of [
      { number: 0 },
      { number: -1 },
      { number: 2 ** 53 - 1 },
      { home: 'peer-c/x' },
      { peer_id: 'peer-b/1' },
    ]) {
      assert.equal(adoptionKind.payload.parse({ ...adoption, ...wrong }), null, JSON.stringify(wrong));
    }
  });
});

const { governance } = DEFAULT_NODE_POLICY;
const CONTEXT = { policy: { ...DEFAULT_NODE_POLICY, governance: { ...governance, mode: 'off' } } } as never;

describe('a name that every object has', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    it(`${name} is no command and no error code`, () => {
      const command = JSON.parse(`{"kind":"${name}"}`) as never;
      const decision = decide(command, CONTEXT, UNGOVERNED);
      assert.throws(() => decision.next(), /no rule decides the command/);
      const outcome = { ok: false, error: { code: name, message: 'x' } };
      const reply = JSON.stringify({ outcome, wall_clock: '2026-01-01T00:00:00.000Z' });
      assert.equal(checkForwardedReply(new TextEncoder().encode(reply)), null);
    });
  }
});
