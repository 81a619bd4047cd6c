import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { adoptionKind } from '../../../protocol/decide/adoption-kind.js';
import { aKindRow, decideOver, type KindRow, NOW, refused, SELF, taken } from '../decide/answerer.js';

const LOST = 'peer-00000000000000bb';
const HEIR = 'peer-00000000000000cc';
const OTHER = 'peer-00000000000000dd';

const adoption = (home: string, peer_id: string, number: number): KindRow =>
  aKindRow(adoptionKind, { peer_id, home, number, adopted_at: NOW, adopted_by: 'ops', rest: {} });
const adopt = (peerId: string, subjects: readonly KindRow[] = []) =>
  decideOver({ kind: 'adopt-peer', peerId, by: 'ai:ops' }, [], { subjects });
const adopted = (peerId: string, subjects: readonly KindRow[] = []) =>
  taken(adopt(peerId, subjects)).value.adopted;

/** The record that this node writes. */
const written = (peer_id: string, number: number) => ({
  ...{ mutation: 'write', kind: 'adoption', word: 'adoption.put', id: `${SELF}/${peer_id}/${number}` },
  ...{ namespace: '_mesh', seen: {}, before: null },
  image: { peer_id, home: SELF, number, adopted_at: NOW, adopted_by: 'ai:ops', rest: {} },
});

describe('adopting a lost node', () => {
  it('makes this node the home of its subjects, and says so in the audit chain', () => {
    const { value, mutations } = taken(adopt(LOST));
    assert.deepEqual(value, { home: SELF, adopted: [{ peer_id: LOST, number: 1 }] });
    const payload = { peer: LOST, home: SELF, adopted: [{ peer_id: LOST, number: 1 }] };
    assert.deepEqual(mutations, [
      written(LOST, 1),
      { mutation: 'append-audit', event: { agentId: 'ai:ops', type: 'mesh.adopted', payload } },
    ]);
  });

  it('takes over what it had adopted itself, and nothing that went on from there', () => {
    const held = [adoption(LOST, OTHER, 4), adoption(LOST, HEIR, 1), adoption(HEIR, HEIR, 2)];
    const { value, mutations } = taken(adopt(LOST, held));
    assert.deepEqual(value.adopted, [
      { peer_id: LOST, number: 1 },
      { peer_id: OTHER, number: 5 },
    ]);
    assert.deepEqual(mutations.slice(0, 2), [written(LOST, 1), written(OTHER, 5)]);
  });

  it('comes after every home before, also one that is another node', () => {
    assert.deepEqual(adopted(LOST, [adoption(HEIR, LOST, 1), adoption(OTHER, LOST, 2)]), [
      { peer_id: LOST, number: 3 },
    ]);
  });

  it('is CONFLICT when there is nothing to take', () => {
    for (const [peer, held] of [
      [LOST, [adoption(SELF, LOST, 1)]],
      [SELF, []],
      [SELF, [adoption(SELF, LOST, 1)]],
    ] as const) {
      const error = refused(adopt(peer, held));
      assert.equal(error.code, 'CONFLICT');
      assert.ok(error.message.includes(peer));
    }
  });

  it('takes the own subjects back from the node that adopted them', () => {
    assert.deepEqual(adopted(SELF, [adoption(HEIR, SELF, 1)]), [{ peer_id: SELF, number: 2 }]);
    assert.deepEqual(adopted(HEIR, [adoption(HEIR, SELF, 1)]), [
      { peer_id: HEIR, number: 1 },
      { peer_id: SELF, number: 2 },
    ]);
  });

  it('goes on for a node whose own subjects were adopted', () => {
    assert.deepEqual(adopted(LOST, [adoption(HEIR, SELF, 1)]), [{ peer_id: LOST, number: 1 }]);
  });

  it('refuses what is no peer id', () => {
    for (const id of ['', 'peer-1', 'peer-00000000000000BB', `${LOST}/e`, `x${LOST}`]) {
      assert.equal(refused(adopt(id)).code, 'VALIDATION_FAILED');
    }
  });
});
