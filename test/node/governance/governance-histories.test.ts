import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drawnHistory } from './drawn-history.js';

describe('drawn histories of policies, requests, edits, votes and moves on two nodes', () => {
  const counts = { direct: 0, waited: 0, executed: 0, refused: 0 };
  for (let seed = 1; seed <= 20; seed += 1) {
    it(`seed ${seed}: no row has a state that no policy allowed or no approver saw`, async () => {
      const told = await drawnHistory(seed, 120);
      assert.deepEqual(told.violations, [], told.steps.join('\n'));
      for (const [name, count] of Object.entries(told.counts)) counts[name as keyof typeof counts] += count;
    });
  }

  it('the histories waited, executed, refused and passed', () => {
    for (const [name, count] of Object.entries(counts)) assert.ok(count > 12, `${name}: ${count}`);
  });
});
