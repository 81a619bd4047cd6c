import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drawnHistory } from './drawn-history.js';

describe('many drawn histories of governance', () => {
  it('leave no row in a state that no policy allowed or no approver saw', async () => {
    for (let seed = 100; seed < 400; seed += 1) {
      const told = await drawnHistory(seed, 120);
      assert.deepEqual(told.violations, [], `seed ${seed}\n${told.steps.join('\n')}`);
    }
  });
});
