import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeerProgress } from '../../protocol/replication/peer-progress.js';
import { openTestNode } from '../support/test-node.js';

const ROW: PeerProgress = {
  peerId: 'peer-1111111111111111',
  origin: 'peer-0000000000000000/e1',
  acked: 4,
  owedTo: 9,
  attempts: 3,
  quarantined: true,
  cause: 'refused:bad_chain',
  firstFailedAtMs: 1,
  lastFailedAtMs: 2,
  nextTryAtMs: 3,
  version: '1.0.0',
};
const PARKED = { peerId: ROW.peerId, origin: ROW.origin, seq: 2, reason: 'unknown_kind', notedAtMs: 1 };

test('what is owed to a peer is kept, replaced and settled, and is no replicated write', async () => {
  const { services, close } = await openTestNode();
  const { store } = services;
  const saved = await store.execute({
    kind: 'save-peer-progress',
    progress: [ROW],
    parked: [PARKED, { ...PARKED, seq: 3 }],
    settled: [],
  });
  assert.equal(saved.ok && saved.appended, undefined);
  const listed = await store.query({ kind: 'list-peer-progress' });
  assert.ok(listed.ok);
  assert.deepEqual(listed.value, { progress: [ROW], parked: [PARKED, { ...PARKED, seq: 3 }] });
  const next = { ...ROW, acked: 9, owedTo: 0, attempts: 0, quarantined: false, cause: null };
  await store.execute({
    kind: 'save-peer-progress',
    progress: [next],
    parked: [],
    settled: [PARKED],
  });
  const after = await store.query({ kind: 'list-peer-progress' });
  assert.ok(after.ok);
  assert.deepEqual(after.value, { progress: [next], parked: [{ ...PARKED, seq: 3 }] });
  const position = await store.query({ kind: 'log-position' });
  assert.equal(position.ok && position.value.originSeq, 0);
  await close();
});
