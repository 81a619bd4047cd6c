import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshnessOf, provenanceOf } from '../../../node/operations/core/provenance.js';
import { ageSeconds } from '../../../protocol/base/time.js';
import { CONFIDENCE_TIERS, confidenceRange, confidenceTierOf } from '../../../protocol/memory/confidence.js';
import { aMemory } from '../../support/memories.js';

const NOW = '2026-07-01T00:00:00.000Z';

test('each confidence has one tier, and lies in the range of that tier alone', () => {
  for (const [confidence, tier] of [
    [1, 'confirmed'],
    [0.95, 'confirmed'],
    [0.9499, 'likely'],
    [0.7, 'likely'],
    [0.6999, 'ambiguous'],
    [0, 'ambiguous'],
  ] as const) {
    assert.equal(confidenceTierOf(confidence), tier);
    const inside = CONFIDENCE_TIERS.filter((one) => {
      const { from, below } = confidenceRange(one);
      return confidence >= from && (below === null || confidence < below);
    });
    assert.deepEqual(inside, [tier]);
  }
});

test('freshness follows expiry, the last use and the age', () => {
  const of = (fields: object) =>
    freshnessOf(aMemory({ created_at: '2026-06-30T12:00:00.000Z', ...fields }), NOW);
  assert.equal(of({}), 'fresh');
  assert.equal(of({ access_count: 1, last_accessed_at: NOW }), 'warm');
  assert.equal(of({ created_at: '2026-06-29T00:00:00.000Z' }), 'warm');
  assert.equal(of({ created_at: '2026-05-01T00:00:00.000Z' }), 'stale');
  assert.equal(
    of({ created_at: '2026-05-01T00:00:00.000Z', last_accessed_at: '2026-06-30T00:00:00.000Z' }),
    'warm',
  );
  assert.equal(of({ expires_at: NOW }), 'expired');
});

test('the attestation of links and content is shown as it stands', () => {
  const attested = aMemory({ metadata: { attest_level: 'agent_attested' }, confidence: 0.8 });
  const shown = provenanceOf(attested, 'self_signed', NOW);
  assert.equal(shown['latest_link_attest_level'], 'self_signed');
  assert.equal(shown['content_attestation'], 'agent_attested');
  assert.equal(shown['confidence_tier'], 'likely');
  const odd = provenanceOf(aMemory({ metadata: { attest_level: 'root' } }), null, NOW);
  assert.equal(odd['content_attestation'], 'claimed');
  assert.ok(!('latest_link_attest_level' in odd));
});

test('ages are a number with m, h or d', () => {
  assert.deepEqual(['30m', '24h', '7d', ' 1d '].map(ageSeconds), [1800, 86_400, 604_800, 86_400]);
  for (const text of ['', '7', 'd', '0d', '-1d', '1.5h', '7 d', '1w', '99999999d']) {
    assert.equal(ageSeconds(text), null, text);
  }
});
