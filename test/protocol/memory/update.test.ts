import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type MemoryRow, PRESERVED_METADATA_KEYS } from '../../../protocol/memory/memory.js';
import type { MemoryPatch, UpdateMemory } from '../../../protocol/memory/update.js';
import { OPERATOR, tenant } from '../../support/memories.js';
import {
  aRow,
  at,
  changedFields,
  decideOver,
  NOW,
  refused,
  removalOf,
  replaced,
  taken,
} from '../decide/answerer.js';

const updating = (patch: MemoryPatch, rest: Partial<UpdateMemory> = {}): UpdateMemory => ({
  kind: 'update-memory',
  id: 'm1',
  patch,
  expectedVersion: null,
  viewer: OPERATOR,
  archive: true,
  ...rest,
});
const row = (fields: Partial<MemoryRow> = {}) => aRow({ id: 'm1', version: 4, ...fields });
const updated = (patch: MemoryPatch, fields: Partial<MemoryRow> = {}) =>
  replaced(decideOver(updating(patch), [row(fields)]));

describe('an update', () => {
  it('changes what the patch names, counts the version and stamps the instant', () => {
    const changes = {
      tags: ['x'],
      priority: 9,
      confidence: 0.25,
      source_uri: 'doc:1',
      expires_at: at(60),
      kind: 'decision',
      source: 'chat',
      citations: [{ uri: 'doc:2', accessed_at: at(-60) }],
      source_span: { start: 3, end: 9 },
      entity_id: 'entity-1',
    } satisfies MemoryPatch;
    const { image: memory, word, reembed } = updated(changes);
    assert.deepEqual(
      changedFields(row(), memory).filter((key) => key !== 'id'),
      [...Object.keys(changes).sort(), 'updated_at', 'version'],
    );
    for (const [key, value] of Object.entries(changes)) {
      assert.deepEqual(memory[key as keyof typeof changes], value);
    }
    assert.equal(memory.version, 5);
    assert.equal(memory.updated_at, NOW);
    assert.equal(word, 'update');
    assert.equal(reembed, false);
  });

  it('puts a scope into the metadata, with or without other metadata', () => {
    const metadata = { agent_id: 'ai:a', scope: 'team', note: 1 };
    const alone = updated({ scope: 'private' }, { metadata }).image.metadata;
    assert.deepEqual(alone, { ...metadata, scope: 'private' });
    const both = updated({ scope: 'private', metadata: { x: 2, scope: 'org' } }, { metadata });
    assert.deepEqual(both.image.metadata, { agent_id: 'ai:a', x: 2, scope: 'private' });
  });

  it('leaves a reflection and a persona what they are', () => {
    for (const kind of ['reflection', 'persona'] as const) {
      const error = refused(decideOver(updating({ kind: 'observation' }), [row({ kind })]));
      assert.deepEqual([error.code, error.message], ['CONFLICT', `a ${kind} keeps its kind`]);
      assert.equal(updated({ kind, priority: 2 }, { kind }).image.priority, 2);
    }
  });

  it('answers the row as it will be', () => {
    const outcome = decideOver(updating({ priority: 9 }), [row()]);
    assert.deepEqual(taken(outcome).value.memory, replaced(outcome).image);
  });

  it('embeds again when the title or the content is another', () => {
    assert.equal(updated({ title: 'another' }).reembed, true);
    assert.equal(updated({ content: 'another' }).reembed, true);
    assert.equal(updated({ title: 'a title', content: 'some content', namespace: 'x' }).reembed, false);
  });

  it('never lowers the tier', () => {
    assert.equal(updated({ tier: 'short' }).image.tier, 'mid');
    assert.equal(updated({ tier: 'mid' }, { tier: 'long' }).image.tier, 'long');
    assert.equal(updated({ tier: 'mid' }, { tier: 'short' }).image.tier, 'mid');
  });

  it('loses its expiry on becoming long, unless the patch sets one', () => {
    const expiring = { expires_at: at(60) };
    assert.equal(updated({ tier: 'long' }, expiring).image.expires_at, null);
    assert.equal(updated({ tier: 'long', expires_at: at(90) }, expiring).image.expires_at, at(90));
    assert.equal(updated({ tier: 'long' }, { ...expiring, tier: 'long' }).image.expires_at, at(60));
    assert.equal(updated({ priority: 1 }, expiring).image.expires_at, at(60));
    assert.equal(updated({ expires_at: null }, expiring).image.expires_at, null);
  });

  it('takes no value for false or zero as absent', () => {
    assert.equal(updated({ confidence: 0 }).image.confidence, 0);
    assert.deepEqual(updated({ tags: [] }, { tags: ['x'] }).image.tags, []);
  });
});

describe('If-Match', () => {
  it('passes with the version of the row', () => {
    const outcome = decideOver(updating({ priority: 9 }, { expectedVersion: 4 }), [row()]);
    assert.equal(taken(outcome).value.memory.version, 5);
  });

  for (const expectedVersion of [3, 5, 0]) {
    it(`is VERSION_CONFLICT with both versions for ${expectedVersion}`, () => {
      const error = refused(decideOver(updating({ priority: 9 }, { expectedVersion }), [row()]));
      assert.equal(error.code, 'VERSION_CONFLICT');
      assert.deepEqual(error.details, {
        status: 'conflict',
        id: 'm1',
        expected_version: expectedVersion,
        current_version: 4,
      });
    });
  }

  it('is judged after the rights to the row', () => {
    const foreign = row({ metadata: { agent_id: 'ai:a' } });
    const command = updating({ priority: 9 }, { expectedVersion: 1, viewer: tenant('ai:b') });
    assert.equal(refused(decideOver(command, [foreign])).code, 'FORBIDDEN');
  });
});

describe('an update of a row', () => {
  it('that is unknown, expired or invisible is NOT_FOUND, all alike', () => {
    const command = updating({ priority: 9 }, { viewer: tenant('ai:b') });
    const cases = [
      [],
      [row({ expires_at: NOW, metadata: { agent_id: 'ai:b' } })],
      [row({ metadata: { agent_id: 'ai:a', scope: 'private' } })],
    ];
    const answers = cases.map((rows) => refused(decideOver(command, rows)));
    for (const answer of answers)
      assert.deepEqual(answer, { code: 'NOT_FOUND', message: 'memory not found' });
  });

  it('of another is FORBIDDEN; one without an owner is anybody’s', () => {
    const command = updating({ priority: 9 }, { viewer: tenant('ai:b') });
    const error = refused(decideOver(command, [row({ metadata: { agent_id: 'ai:a' } })]));
    assert.equal(error.code, 'FORBIDDEN');
    assert.equal(taken(decideOver(command, [row({ metadata: {} })])).value.memory.priority, 9);
  });
});

describe('an update onto another title', () => {
  const other = (fields: Partial<MemoryRow> = {}) => aRow({ id: 'm2', rid: 2, title: 'taken', ...fields });

  it('is CONFLICT where it is taken, naming the holder only to those who see it', () => {
    const command = updating({ title: 'taken' }, { viewer: tenant('ai:writer') });
    const seen = refused(decideOver(command, [row(), other()]));
    assert.deepEqual([seen.code, seen.details], ['CONFLICT', { existing_id: 'm2' }]);
    const hidden = other({ metadata: { agent_id: 'ai:a', scope: 'private' } });
    const error = refused(decideOver(command, [row(), hidden]));
    assert.deepEqual([error.code, error.details], ['CONFLICT', undefined]);
  });

  it('is CONFLICT where a move to another namespace meets it', () => {
    const there = other({ title: 'a title', namespace: 'x' });
    assert.equal(refused(decideOver(updating({ namespace: 'x' }), [row(), there])).code, 'CONFLICT');
  });

  it('removes an expired holder first', () => {
    const expired = other({ expires_at: at(-1) });
    const { mutations } = taken(
      decideOver(updating({ title: 'taken' }, { archive: false }), [row(), expired]),
    );
    const removal = removalOf(expired, { word: 'expire', reason: 'ttl_expired', archive: false });
    assert.deepEqual(mutations[0], removal);
    const [, write] = mutations;
    assert.ok(write?.mutation === 'write' && write.kind === 'memory');
    assert.deepEqual([write.id, (write.before as MemoryRow).title], ['m1', 'a title']);
    assert.equal(mutations.length, 2);
  });

  it('may keep its own', () => {
    assert.equal(updated({ title: 'a title', content: 'new' }).image.title, 'a title');
  });
});

describe('the metadata of an update', () => {
  const STORED = {
    agent_id: 'ai:writer',
    scope: 'private',
    attest_level: 'agent_attested',
    attested_by: 'peer-1',
    imported_from_agent_id: 'ai:first',
    gone: true,
  };

  it('replaces the object but for what no client may change', () => {
    const forged = {
      agent_id: 'ai:other',
      attest_level: 'forged',
      attested_by: 'peer-2',
      imported_from_agent_id: 'x',
    };
    const { image: memory } = updated({ metadata: { ...forged, kept: 1 } }, { metadata: STORED });
    const { gone: _, ...expected } = STORED;
    assert.deepEqual(memory.metadata, { ...expected, kept: 1 });
  });

  it('cannot make up a key that the row does not have', () => {
    const forged = Object.fromEntries(PRESERVED_METADATA_KEYS.map((key) => [key, 'forged']));
    const { image: memory } = updated({ metadata: forged }, { metadata: { x: 1 } });
    assert.deepEqual(memory.metadata, { scope: 'forged' }, 'the scope is the owner’s to set');
  });

  it('stays as it is without a patch of it', () => {
    assert.deepEqual(updated({ priority: 9 }, { metadata: STORED }).image.metadata, STORED);
  });
});

describe('an update of a signed row', () => {
  const SIGNED: Partial<MemoryRow> = {
    metadata: { agent_id: 'ai:writer', attest_level: 'agent_attested', attested_by: 'peer-1', x: 1 },
    write_signature: { signature: 's', created_at: NOW, public_key: 'k' },
  };

  for (const patch of [
    { title: 'other' },
    { content: 'other' },
    { namespace: 'other' },
    { kind: 'decision' },
  ] as const) {
    it(`leaves a claimed row when it changes the ${Object.keys(patch)[0]}`, () => {
      const { image: memory } = updated(patch, SIGNED);
      assert.equal(memory.write_signature, null);
      assert.deepEqual(memory.metadata, { agent_id: 'ai:writer', attest_level: 'claimed', x: 1 });
    });
  }

  it('keeps the attestation of what the signature does not cover', () => {
    const { image: memory } = updated({ priority: 9, tags: ['t'], tier: 'long', title: 'a title' }, SIGNED);
    assert.deepEqual(memory.write_signature, SIGNED.write_signature);
    assert.deepEqual(memory.metadata, SIGNED.metadata);
    const unsigned = { kind: 'observation', source: 'chat', citations: [], entity_id: 'e' } as const;
    assert.deepEqual(updated(unsigned, SIGNED).image.write_signature, SIGNED.write_signature);
    const scoped = updated({ scope: 'private' }, SIGNED).image;
    assert.deepEqual(scoped.write_signature, SIGNED.write_signature);
    assert.deepEqual(scoped.metadata, { ...SIGNED.metadata, scope: 'private' });
  });

  it('leaves a claimed row though its signature is not at hand', () => {
    const { image: memory } = updated({ content: 'other' }, { ...SIGNED, write_signature: null });
    assert.equal(memory.metadata['attest_level'], 'claimed');
    assert.equal('attested_by' in memory.metadata, false);
  });
});
