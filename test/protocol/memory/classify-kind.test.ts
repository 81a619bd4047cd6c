import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kindOfText } from '../../../protocol/memory/classify-kind.js';

describe('the kind that words say', () => {
  const SAYS: readonly (readonly [string, string | null])[] = [
    ['User: where is it?\nAssistant: in the cellar', 'conversation'],
    ['**Human**: hello', 'conversation'],
    ['We decided to use Postgres for billing', 'decision'],
    ["Next quarter we'll use Rust", 'decision'],
    ['Decision: no meetings on Friday', 'decision'],
    ['The outage on Monday took place at noon', 'event'],
    ['v2 was released on 3 March', 'event'],
    ['Anna reports to Ben', 'relation'],
    ['The billing service depends on the ledger', 'relation'],
    ['Acme is a company in Oslo', 'entity'],
    ['Carla claims that the disk is full', 'claim'],
    ['According to the manual it is safe', 'claim'],
    ['Idempotence is defined as f(f(x)) = f(x)', 'concept'],
    ['The kettle is blue', null],
    ['undecided touring', null],
    ['', null],
  ];
  for (const [text, kind] of SAYS) {
    it(`of ${JSON.stringify(text)} is ${kind}`, () => assert.equal(kindOfText(text), kind));
  }

  it('is that of the first sign in the order of the kinds', () => {
    assert.equal(kindOfText('According to Anna we decided to move; it took place in May'), 'decision');
  });

  it('is looked for in the first 4,096 characters', () => {
    assert.equal(kindOfText(`${'a '.repeat(2040)}we decided to go`), 'decision');
    assert.equal(kindOfText(`${'a '.repeat(2048)}we decided to go`), null);
  });

  it('is found in a moment in any text', () => {
    for (const text of [
      'is a '.repeat(20_000),
      ' \t'.repeat(40_000),
      '[*'.repeat(40_000),
      'we we '.repeat(9000),
    ]) {
      const began = process.hrtime.bigint();
      kindOfText(text);
      const ms = Number(process.hrtime.bigint() - began) / 1e6;
      assert.ok(ms < 50, `${ms} ms`);
    }
  });
});
