import { describe, it } from 'node:test';
import { holdsUnder, POLICIES } from './decision-table.js';

describe('policy x mode x caller x action x inheritance', () => {
  it('holds under every policy', () => holdsUnder(POLICIES));
});
