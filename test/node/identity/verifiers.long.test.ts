import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareVerifiers } from '../../support/ed25519-differential.js';

const ROUNDS = 5000;

describe('node’s verifier and the curve library, at length', () => {
  it('agree under admitted keys, except that node refuses an R that is neutral, of small or of mixed order', (context) => {
    const { cases, disagreements } = compareVerifiers(1_000_000, 1_000_000 + ROUNDS);
    assert.equal(disagreements, 3 * ROUNDS);
    context.diagnostic(`${cases} cases`);
  });
});
