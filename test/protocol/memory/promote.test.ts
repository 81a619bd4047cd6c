import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MemoryRow, Tier } from '../../../protocol/memory/memory.js';
import type { PromoteMemory } from '../../../protocol/memory/promote.js';
import { OPERATOR, tenant } from '../../support/memories.js';
import { aRow, at, changedFields, decideOver, NOW, refused, replaced, taken } from '../decide/answerer.js';

const promoting = (targetTier: 'mid' | 'long', rest: Partial<PromoteMemory> = {}): PromoteMemory => ({
  kind: 'promote-memory',
  id: 'm1',
  targetTier,
  viewer: OPERATOR,
  ...rest,
});
const row = (tier: Tier, fields: Partial<MemoryRow> = {}) =>
  aRow({ id: 'm1', tier, version: 2, expires_at: tier === 'long' ? null : at(60), ...fields });

describe('a promotion', () => {
  it('to long clears the expiry', () => {
    for (const tier of ['short', 'mid'] as const) {
      const outcome = decideOver(promoting('long'), [row(tier)]);
      const { image: memory, word, reembed } = replaced(outcome);
      assert.deepEqual(
        changedFields(row(tier), memory).filter((key) => key !== 'id'),
        ['expires_at', 'tier', 'updated_at', 'version'],
      );
      assert.deepEqual([memory.tier, memory.expires_at, memory.version], ['long', null, 3]);
      assert.equal(memory.updated_at, NOW);
      assert.deepEqual([word, reembed], ['promote', false]);
      assert.deepEqual(taken(outcome).value.memory, memory);
    }
  });

  it('to mid keeps the expiry', () => {
    const { image: memory } = replaced(decideOver(promoting('mid'), [row('short')]));
    assert.deepEqual([memory.tier, memory.expires_at], ['mid', at(60)]);
  });

  it('of a row that is there already writes no operation, however often', () => {
    const cases: readonly (readonly [Tier, 'mid' | 'long'])[] = [
      ['long', 'long'],
      ['mid', 'mid'],
      ['long', 'mid'],
    ];
    for (const [tier, target] of cases) {
      const stored = row(tier);
      const { value, mutations } = taken(decideOver(promoting(target), [stored]));
      assert.deepEqual(mutations, []);
      assert.deepEqual(value.memory, stored);
    }
  });

  it('done twice changes the row once', () => {
    const { image: memory } = replaced(decideOver(promoting('long'), [row('mid')]));
    const again = decideOver(promoting('long'), [{ ...memory, rid: 1, life_at: null }]);
    assert.deepEqual(taken(again).mutations, []);
  });

  it('of what is unknown, expired or invisible is NOT_FOUND, and of another’s row FORBIDDEN', () => {
    const viewer = tenant('ai:b');
    for (const rows of [
      [],
      [row('mid', { expires_at: NOW })],
      [row('mid', { metadata: { agent_id: 'ai:a', scope: 'private' } })],
    ]) {
      assert.equal(refused(decideOver(promoting('long', { viewer }), rows)).code, 'NOT_FOUND');
    }
    const foreign = row('mid', { metadata: { agent_id: 'ai:a' } });
    assert.equal(refused(decideOver(promoting('long', { viewer }), [foreign])).code, 'FORBIDDEN');
  });
});
