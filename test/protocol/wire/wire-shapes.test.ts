import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as limits from '../../../protocol/base/limits.js';
import { checkPullReply } from '../../../protocol/wire/pull-reply.js';
import { checkPushReply } from '../../../protocol/wire/push-message.js';
import {
  checkBucketsReply,
  checkNamespacesReply,
  checkOperationsReply,
  parseRanges,
} from '../../../protocol/wire/ranges-messages.js';
import { readHeads, readOperation } from '../../../protocol/wire/wire-schema.js';
import { TestPeer } from '../../support/test-peer.js';

const peer = new TestPeer('sender of shapes');
const OPERATION = peer.operation({ title: 'a shape' });
const HEAD = peer.head();
const AT = '2026-01-01T00:00:00Z';
const ORIGIN_LONG = `${'p'.repeat(limits.HEADER_ORIGIN_LENGTH_MAX)}/e`;

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const pulled = (operation: unknown, more: object = {}) =>
  checkPullReply(
    bytes({ operations: [operation], heads: [HEAD], more: false, have: {}, wall_clock: AT, ...more }),
  );
const gaveBack = (operation: unknown) =>
  checkOperationsReply(bytes({ operations: [operation], withheld: [], wall_clock: AT }));
const pushReplied = (more: object) =>
  checkPushReply(bytes({ applied: 0, noop: 0, have: {}, refused: [], parked: [], wall_clock: AT, ...more }));
const asked = (ask: object) => parseRanges({ sender_wall_clock: AT, ask });

const seenOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`o/${at}`, 1]));

/** Members of an operation at the edge of what is taken, and beyond it. */
const EDGES: readonly (readonly [member: object, taken: boolean])[] = [
  [{}, true],
  [{ payload: null }, true],
  [{ origin: `${'p'.repeat(limits.HEADER_ORIGIN_LENGTH_MAX - 2)}/e` }, true],
  [{ origin: ORIGIN_LONG }, false],
  [{ origin: 'no-epoch' }, false],
  [{ seq: 0 }, false],
  [{ seq: 1.5 }, false],
  [{ seq: Number.MAX_SAFE_INTEGER }, true],
  [{ seq: 2 ** 53 }, false],
  [{ hlc: 'yesterday' }, false],
  [{ kind: 'of-a-later-release' }, true],
  [{ kind: '' }, false],
  [{ kind: 'k'.repeat(limits.HEADER_WORD_LENGTH_MAX + 1) }, false],
  [{ namespace: 'n'.repeat(limits.HEADER_TEXT_LENGTH_MAX) }, true],
  [{ namespace: 'n'.repeat(limits.HEADER_TEXT_LENGTH_MAX + 1) }, false],
  [{ subject: 's'.repeat(limits.HEADER_TEXT_LENGTH_MAX + 1) }, false],
  [{ seen: seenOf(limits.HEADER_ORIGINS_SEEN_MAX) }, true],
  [{ seen: seenOf(limits.HEADER_ORIGINS_SEEN_MAX + 1) }, false],
  [{ seen: { 'o/1': 1 } }, true],
  [{ seen: { 'o/1': 0 } }, false],
  [{ seen: { 'o/1': -1 } }, false],
  [{ seen: [] }, false],
  [{ seen: { toString: 1 } }, false],
  [{ seen: { '': 1 } }, false],
  [{ payloadHash: OPERATION.payloadHash.toUpperCase() }, false],
  [{ prevHash: 'x' }, false],
  [{ payload: undefined }, false],
];

describe('the shapes that nodes send', () => {
  it('of an operation is the same in a push, in a page and in what is given back', () => {
    for (const [member, taken] of EDGES) {
      const operation = { ...OPERATION, ...member };
      const what = JSON.stringify(member).slice(0, 80);
      assert.equal(readOperation(operation).ok, taken, `push ${what}`);
      assert.equal(pulled(operation) !== null, taken, `pull ${what}`);
      assert.equal(gaveBack(operation) !== null, taken, `given back ${what}`);
    }
  });

  it('may have keys of later releases, which are ignored', () => {
    const later = { later: { deep: [1] } };
    const operation = { ...OPERATION, ...later };
    assert.deepEqual(readOperation(operation), { ok: true, operation: OPERATION });
    assert.deepEqual(readHeads([{ ...HEAD, ...later }, 'no head']), [HEAD]);
    assert.deepEqual(pulled(operation, later)?.operations, [OPERATION]);
    assert.deepEqual(gaveBack({ ...operation })?.operations, [OPERATION]);
    assert.notEqual(pushReplied(later), null);
    const question = { within: null, of: 'later', buckets: [0], after: null, upTo: null, digests: [] };
    assert.ok(asked({ kind: 'namespaces', ...question, ...later }).ok);
    const reply = { have: {}, still: true, differing: ['n'], wall_clock: AT };
    assert.deepEqual(checkNamespacesReply(bytes({ ...reply, ...later }))?.differing, ['n']);
  });

  it('of what a node has is the same in every message', () => {
    for (const [have, taken] of [
      [{ [OPERATION.origin]: 0 }, true],
      [{ [ORIGIN_LONG]: 1 }, false],
      [{ 'o/1': -1 }, false],
      [JSON.parse('{"constructor": 1}') as object, false],
      [[], false],
    ] as const) {
      const reply = { have, still: true, wall_clock: AT };
      assert.equal(pulled(OPERATION, { have }) !== null, taken);
      assert.equal(pushReplied({ have }) !== null, taken);
      assert.equal(checkNamespacesReply(bytes({ ...reply, differing: [] })) !== null, taken);
      assert.equal(checkBucketsReply(bytes({ ...reply, within: null, buckets: {} })) !== null, taken);
    }
  });

  it('of a place is the same in a question, in a refusal and in what is withheld', () => {
    const { origin } = OPERATION;
    for (const [place, taken] of [
      [{ origin, seq: 1 }, true],
      [{ origin, seq: 0 }, false],
      [{ origin: 'no-epoch', seq: 1 }, false],
      [{ origin: ORIGIN_LONG, seq: 1 }, false],
    ] as const) {
      assert.equal(asked({ kind: 'operations', places: [place] }).ok, taken);
      const refused = [{ ...place, reason: 'of a later release' }];
      assert.equal(pushReplied({ refused }) !== null, taken);
      const back = { operations: [], withheld: [place], wall_clock: AT };
      assert.equal(checkOperationsReply(bytes(back)) !== null, taken);
    }
  });

  it('of an answer may leave out who answers, which release it runs and the root', () => {
    const said = { receiver_agent_id: peer.peerId, version: '9.0.0' };
    for (const [more, receiver, version] of [
      [said, peer.peerId, '9.0.0'],
      [{}, null, null],
      [{ receiver_agent_id: 7, version: 'v'.repeat(65) }, null, null],
    ] as const) {
      const reply = pushReplied(more);
      assert.deepEqual([reply?.receiver, reply?.version], [receiver, version]);
    }
    assert.deepEqual([pulled(OPERATION)?.root, pulled(OPERATION)?.version], [null, null]);
    assert.equal(pulled(OPERATION, { root: 'r' })?.root, 'r');
    assert.equal(pulled(OPERATION)?.denied, false);
    assert.equal(pulled(OPERATION, { scope_status: 'no_allowlist_default_deny' })?.denied, true);
  });

  it('of an answer need a clock that can be read', () => {
    for (const wall_clock of [undefined, 7, 'noon', `${AT}${' '.repeat(64)}`]) {
      assert.equal(pulled(OPERATION, { wall_clock }), null);
      assert.equal(pushReplied({ wall_clock }), null);
    }
  });
});
