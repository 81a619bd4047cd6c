import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openHttpNode } from './http-node.js';

const admin = { 'x-agent-id': 'ai:admin' };
const DAY_MS = 86_400_000;

describe('the age of a memory in the ranking', () => {
  /** The tiers of two rows with one text, the first row of the answer first. */
  async function order(scoring: object): Promise<unknown[]> {
    const node = await openHttpNode({ adminAgentIds: ['ai:admin'], adminHeaderTrust: true, ...scoring });
    try {
      const created = (days: number) => {
        const at = new Date(Date.now() - days * DAY_MS).toISOString();
        return { content: 'ferry times', created_at: at, updated_at: at };
      };
      const memories = [
        { title: 'new', tier: 'short', ...created(1) },
        { title: 'old', tier: 'long', ...created(100) },
      ];
      const answer = await node.send('POST', '/api/v1/import', { memories }, admin);
      assert.equal(answer.json?.['imported'], 2, answer.text);
      const { json } = await node.send('GET', '/api/v1/recall?q=ferry%20times', undefined, admin);
      return (json!['memories'] as { tier: string }[]).map(({ tier }) => tier);
    } finally {
      await node.close();
    }
  }

  it('counts less for what is kept longer', async () => {
    assert.deepEqual(await order({}), ['long', 'short']);
  });
  it('counts by the half-life of its tier', async () => {
    assert.deepEqual(await order({ halfLifeLong: 0.1 }), ['short', 'long']);
    assert.deepEqual(await order({ halfLifeLong: 0.1, halfLifeShort: 0.1 }), ['long', 'short']);
  });
  it('counts nothing where recall ranks without recency', async () => {
    assert.deepEqual(await order({ halfLifeLong: 0.1, legacyScoring: true }), ['long', 'short']);
  });
});
