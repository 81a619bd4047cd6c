import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inTurn } from '../../support/turn.js';
import { holdsUnder, POLICIES } from './decision-table.js';

/** Those with one level for `*`; five commits see all. */
const POLICIES_IN_TURN = 50;

describe('policy x mode x caller x action x inheritance', () => {
  it('holds under the policies whose turn it is', () => {
    assert.equal(POLICIES.length, 5 * POLICIES_IN_TURN);
    holdsUnder(inTurn(POLICIES, POLICIES_IN_TURN));
  });
});
