import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failingSeeds } from './seeds.js';

const FIRST = 1;
const LAST = 4000;

describe('the mesh under faults, at length', () => {
  it(`keeps its promises in seeds ${FIRST} to ${LAST}`, async (context) => {
    const { failures, seconds, operations } = await failingSeeds(FIRST, LAST);
    context.diagnostic(`${Math.round(seconds)} virtual seconds, ${operations} operations`);
    assert.equal(failures.join('\n'), '');
  });
});
