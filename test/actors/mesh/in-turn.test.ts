import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inTurn, PEERS_ASKED } from '../../../actors/mesh/parts.js';

const peers = (count: number) => Array.from({ length: count }, (_, n) => n);

describe('peers that are asked in turn', () => {
  it('are all asked at once where there are few', () => {
    for (const count of [0, 1, PEERS_ASKED])
      for (const interval of [0, 1, 7]) assert.deepEqual(inTurn(peers(count), interval), peers(count));
  });

  it('are never more than so many, each once, and everybody has a turn', () => {
    for (const count of [PEERS_ASKED + 1, 24, 49, 100]) {
      const asked = new Map<number, number>();
      const intervals = 10 * count;
      for (let interval = 0; interval < intervals; interval += 1) {
        const some = inTurn(peers(count), interval);
        assert.equal(new Set(some).size, PEERS_ASKED);
        for (const peer of some) asked.set(peer, (asked.get(peer) ?? 0) + 1);
      }
      assert.deepEqual(
        [...asked.keys()].sort((a, b) => a - b),
        peers(count),
      );
      assert.deepEqual([...new Set(asked.values())], [10 * PEERS_ASKED]);
    }
  });
});
