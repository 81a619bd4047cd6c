import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type WriteEnvelope, writeEnvelopeBytes } from '../../../protocol/identity/write-envelope.js';

interface Vector {
  readonly name: string;
  readonly agent_id: string;
  readonly namespace: string;
  readonly title: string;
  readonly kind: string;
  readonly created_at: string;
  readonly content: string;
  readonly content_sha256: string;
  readonly envelope: string;
}

const VECTORS = JSON.parse(readFileSync('fixtures/write-envelope.json', 'utf8')) as readonly Vector[];

const envelopeOf = (vector: Vector): WriteEnvelope => ({
  agentId: vector.agent_id,
  namespace: vector.namespace,
  title: vector.title,
  kind: vector.kind,
  createdAt: vector.created_at,
  contentSha256: createHash('sha256').update(vector.content).digest(),
});

describe('the signed write envelope', () => {
  for (const vector of VECTORS) {
    it(`comes out byte for byte: ${vector.name}`, () => {
      const envelope = envelopeOf(vector);
      assert.equal(Buffer.from(envelope.contentSha256).toString('hex'), vector.content_sha256);
      assert.equal(Buffer.from(writeEnvelopeBytes(envelope)).toString('hex'), vector.envelope);
    });
  }

  it('changes with every field', () => {
    const envelope = envelopeOf(VECTORS[0]!);
    const texts = [
      envelope,
      { ...envelope, agentId: 'x' },
      { ...envelope, namespace: 'x' },
      { ...envelope, title: 'x' },
      { ...envelope, kind: 'claim' },
      // The same instant in other words is another text, because the author signed words.
      { ...envelope, createdAt: '2026-07-28T12:00:00Z' },
      { ...envelope, contentSha256: new Uint8Array(32) },
    ].map((each) => Buffer.from(writeEnvelopeBytes(each)).toString('hex'));
    assert.equal(new Set(texts).size, texts.length);
  });

  it('cannot be read in two ways: text moved from one field to the next is another envelope', () => {
    const envelope = envelopeOf(VECTORS[0]!);
    const moved = { ...envelope, namespace: 'team/alphae', title: 'g upgrade window' };
    assert.notDeepEqual(writeEnvelopeBytes(moved), writeEnvelopeBytes(envelope));
  });
});
