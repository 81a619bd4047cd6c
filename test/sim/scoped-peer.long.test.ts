import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runScopedPeer } from './scoped-peer.js';

const SEEDS = 500;

it(`a peer with a scope changes nothing outside it in ${SEEDS} seeds`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { difference, step } = await runScopedPeer(seed, null);
    assert.equal(difference, null, `seed ${seed}, step ${step}`);
  }
});
