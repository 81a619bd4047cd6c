import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { verifyEd25519 } from '../../../node/verify-ed25519.js';
import type { Crypto } from '../../../protocol/base/seams.js';
import { withWrite } from '../../../protocol/base/version-vector.js';
import { EPOCH_KIND } from '../../../protocol/log/epoch-notice.js';
import {
  CHAIN_GENESIS,
  headerHash,
  type OperationHeader,
  operationId,
} from '../../../protocol/log/operation-log.js';
import type { Memory, MemoryRow } from '../../../protocol/memory/memory.js';
import { memoryKind, memoryPayload } from '../../../protocol/memory/memory-kind.js';
import { KINDS } from '../../../protocol/release.js';
import { removalPayload } from '../../../protocol/replication/payloads.js';
import { aMemory } from '../../support/memories.js';

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest();
const crypto: Crypto = {
  sha256,
  sha256Hex: (data) => sha256(data).toString('hex'),
  verify: verifyEd25519,
};

const HEADER: OperationHeader = {
  origin: 'peer-1/00ff',
  seq: 1,
  hlc: '1785240000000-00000',
  kind: 'store',
  namespace: 'global',
  subject: 'm1',
  seen: { 'peer-2/aa': 7, 'peer-1/00ff': 3 },
  payloadHash: 'a'.repeat(64),
  prevHash: CHAIN_GENESIS,
};

describe('the operation log', () => {
  it('names an operation by its origin and sequence', () => {
    assert.equal(operationId('peer-1/00ff', 12), 'peer-1/00ff/12');
  });

  it('chains headers by a hash that every implementation can compute', () => {
    const text = `["peer-1/00ff",1,"1785240000000-00000","store","global","m1",{"peer-1/00ff":3,"peer-2/aa":7},"${'a'.repeat(64)}","${'0'.repeat(64)}"]`;
    assert.equal(headerHash(HEADER, crypto), sha256(text).toString('hex'));
  });

  it('has another hash for a change of any field', () => {
    const changes: Partial<OperationHeader>[] = [
      {},
      { origin: 'peer-1/00fe' },
      { seq: 2 },
      { hlc: '1785240000000-00001' },
      { kind: 'update' },
      { namespace: 'globa' },
      { subject: 'm2' },
      { seen: {} },
      { payloadHash: 'b'.repeat(64) },
      { prevHash: '1'.repeat(64) },
    ];
    const hashes = changes.map((change) => headerHash({ ...HEADER, ...change }, crypto));
    assert.equal(new Set(hashes).size, changes.length);
  });

  it('has one hash for one vector, in whatever order it was gathered', () => {
    const seen = { 'peer-1/00ff': 3, 'peer-2/aa': 7 };
    assert.equal(headerHash({ ...HEADER, seen }, crypto), headerHash(HEADER, crypto));
  });

  it('knows each word once', () => {
    const words = KINDS.all.flatMap((kind) => Object.keys(kind.words));
    assert.equal(new Set([...words, EPOCH_KIND]).size, words.length + 1);
    for (const kind of KINDS.all) {
      for (const [word, role] of Object.entries(kind.words)) {
        assert.deepEqual(KINDS.ofWord(word), { kind, role });
      }
    }
  });
});

describe('the payload of a memory', () => {
  // `rest` holds the unknown members, which stand beside the others.
  const LOCAL = ['access_count', 'last_accessed_at', 'hlc', 'origin', 'origin_seq', 'seen', 'rest'];

  it('is every field but the local counters and the stamps of the header', () => {
    const held = {
      valid_from: '2026-01-01T00:00:00.000Z',
      valid_until: '2027-01-01T00:00:00.000Z',
      conversation: 'chat',
      turn: 1,
    };
    const memory = aMemory({ tags: ['b', 'a'], expires_at: '2026-02-01T00:00:00.000Z', ...held });
    const image = JSON.parse(memoryPayload(memory)) as Record<string, unknown>;
    const expected = Object.keys(memory).filter((key) => !LOCAL.includes(key));
    assert.deepEqual(Object.keys(image), expected.sort());
    for (const key of expected) assert.deepEqual(image[key], memory[key as keyof Memory]);
  });

  it('is the same for a row, wherever it lies and however often it was read', () => {
    const memory = aMemory();
    const row: MemoryRow = {
      ...memory,
      rid: 9,
      life_at: '2026-01-01T00:00:00.000Z',
      access_count: 4,
      last_accessed_at: '2026-01-02T00:00:00.000Z',
      hlc: '1785240000000-00000',
      origin: 'peer-1/00ff',
      origin_seq: 5,
      seen: { 'peer-1/00ff': 5 },
    };
    assert.equal(memoryPayload(row), memoryPayload(memory));
  });

  it('changes with every replicated field', () => {
    const memory = aMemory();
    const before = memoryPayload(memory);
    for (const key of Object.keys(memory).filter((name) => !LOCAL.includes(name))) {
      assert.notEqual(memoryPayload({ ...memory, [key]: 'changed' } as Memory), before, key);
    }
  });

  it('of a removal holds what a tombstone needs', () => {
    const memory = aMemory({
      id: 'm1',
      namespace: 'a/b',
      title: 't',
      expires_at: '2026-02-01T00:00:00.000Z',
    });
    const { title, expires_at, version } = memory;
    const facts = { title, expires_at, version, rest: {} };
    assert.equal(
      removalPayload(memoryKind, memory, { reason: 'ttl_expired', facts, was: null }),
      '{"expires_at":"2026-02-01T00:00:00.000Z","id":"m1","namespace":"a/b","reason":"ttl_expired","title":"t","version":1}',
    );
  });
});

describe('a version vector', () => {
  it('gains the write, keeps the others, and leaves the one before as it was', () => {
    const before = Object.freeze({ a: 1, b: 2 });
    assert.deepEqual(withWrite(before, 'b', 3), { a: 1, b: 3 });
    assert.deepEqual(withWrite(before, 'c', 1), { a: 1, b: 2, c: 1 });
    assert.deepEqual(before, { a: 1, b: 2 });
  });
});
