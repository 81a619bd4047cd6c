import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TITLE_LENGTH_MAX, TITLE_VERSION_MAX } from '../../../protocol/base/limits.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import { storing, tenant } from '../../support/memories.js';
import {
  aRow,
  at,
  changedFields,
  decideOver,
  inserted,
  NOW,
  refused,
  removalOf,
  replaced,
  storeOf,
  taken,
} from '../decide/answerer.js';

const PRIVATE = { agent_id: 'ai:a', scope: 'private' };
const summaryOf = ({ id, tier, namespace, title, version, expires_at }: Memory) => ({
  id,
  tier,
  namespace,
  title,
  version,
  expires_at,
});
const merging = (fields: Partial<Memory>, rest: Parameters<typeof storing>[1] = {}) =>
  storing(fields, { onConflict: 'merge', ...rest });

describe('storing under a free title', () => {
  for (const onConflict of ['error', 'merge', 'version'] as const) {
    it(`inserts the memory as it is (${onConflict})`, () => {
      const command = storing({ title: 'free' }, { onConflict });
      const outcome = decideOver(command, [
        aRow({ title: 'another' }),
        aRow({ title: 'free', namespace: 'x' }),
      ]);
      assert.deepEqual(taken(outcome).value, { stored: summaryOf(command.memory), created: true });
      assert.deepEqual(inserted(outcome), storeOf(command.memory));
    });
  }
});

describe('storing under a title whose holder has expired', () => {
  const holder = aRow({ expires_at: NOW, metadata: PRIVATE });

  for (const onConflict of ['error', 'merge', 'version'] as const) {
    for (const archive of [true, false]) {
      it(`removes the holder first (${onConflict}, archive ${archive})`, () => {
        const command = storing({}, { onConflict, archive, viewer: tenant('ai:b') });
        const { value, mutations } = taken(decideOver(command, [holder]));
        assert.equal(value.created, true);
        assert.deepEqual(mutations, [
          removalOf(holder, { word: 'expire', reason: 'ttl_expired', archive }),
          storeOf(command.memory),
        ]);
      });
    }
  }

  it('leaves a holder alone that expires one millisecond later', () => {
    assert.equal(refused(decideOver(storing(), [aRow({ expires_at: at(0.001) })])).code, 'CONFLICT');
  });
});

describe('storing under a taken title, on_conflict error', () => {
  it('is CONFLICT with the id of the holder', () => {
    const holder = aRow();
    const error = refused(decideOver(storing(), [holder]));
    assert.equal(error.code, 'CONFLICT');
    assert.deepEqual(error.details, { existing_id: holder.id });
  });

  it('does not name a holder that the caller may not see', () => {
    const error = refused(decideOver(storing({}, { viewer: tenant('ai:b') }), [aRow({ metadata: PRIVATE })]));
    assert.equal(error.code, 'CONFLICT');
    assert.equal('details' in error, false);
  });
});

describe('storing under a taken title, on_conflict version', () => {
  const versioned = (fields: Partial<Memory> = {}) => storing(fields, { onConflict: 'version' });

  it('takes the first free number from 2 on', () => {
    const outcome = decideOver(versioned(), [
      aRow(),
      aRow({ title: 'a title (2)' }),
      aRow({ title: 'a title (4)' }),
    ]);
    assert.equal(taken(outcome).value.stored.title, 'a title (3)');
    assert.equal(inserted(outcome).image.title, 'a title (3)');
  });

  it('takes the number of an expired row, which gives way', () => {
    const old = aRow({ title: 'a title (2)', expires_at: at(-1) });
    const { value, mutations } = taken(decideOver(versioned(), [aRow(), old]));
    assert.equal(value.stored.title, 'a title (2)');
    assert.deepEqual(
      mutations.map((mutation) => mutation.mutation),
      ['remove', 'write'],
    );
  });

  it('leaves other namespaces alone', () => {
    const outcome = decideOver(versioned(), [aRow(), aRow({ title: 'a title (2)', namespace: 'x' })]);
    assert.equal(taken(outcome).value.stored.title, 'a title (2)');
  });

  it('is CONFLICT when no number is left, after a bounded search', () => {
    const rows = [aRow()];
    for (let n = 2; n <= TITLE_VERSION_MAX; n += 1) rows.push(aRow({ title: `a title (${n})` }));
    const outcome = decideOver(versioned(), rows);
    assert.equal(refused(outcome).code, 'CONFLICT');
    assert.equal(outcome.reads.length, TITLE_VERSION_MAX);
  });

  it('makes no title that is longer than a title may be', () => {
    const title = 'x'.repeat(TITLE_LENGTH_MAX - 4);
    const fits = decideOver(versioned({ title }), [aRow({ title })]);
    assert.equal(taken(fits).value.stored.title.length, TITLE_LENGTH_MAX);
    const longer = `${title}x`;
    assert.equal(
      refused(decideOver(versioned({ title: longer }), [aRow({ title: longer })])).code,
      'CONFLICT',
    );
  });
});

describe('storing under a taken title, on_conflict merge', () => {
  const holder = aRow({
    rid: 7,
    version: 3,
    priority: 6,
    confidence: 0.5,
    tags: ['old'],
    source: 'cli',
    access_count: 4,
    expires_at: at(60),
    entity_id: 'e1',
    persona_version: 2,
    citations: [{ uri: 'doc:1', accessed_at: NOW }],
    source_uri: 'doc:1',
    source_span: { start: 1, end: 2 },
    seen: { 'p/1': 4 },
  });
  const incoming: Partial<Memory> = { content: 'newer', tags: ['new'], source: 'mcp', expires_at: at(3600) };

  it('replaces the text and keeps the row', () => {
    const outcome = decideOver(merging(incoming), [holder]);
    const { value } = taken(outcome);
    const { image: memory, word, reembed } = replaced(outcome);
    assert.equal(value.created, false);
    assert.deepEqual(value.stored, summaryOf(memory));
    assert.equal(word, 'update');
    assert.equal(reembed, true);
    assert.deepEqual(changedFields(holder, memory), [
      'confidence',
      'content',
      'expires_at',
      'source',
      'tags',
      'updated_at',
      'version',
    ]);
    assert.equal(memory.version, 4);
    assert.equal(memory.updated_at, NOW);
    assert.equal(memory.expires_at, at(3600));
    assert.equal(memory.confidence, 1);
    assert.equal(memory.priority, 6);
  });

  it('embeds again only when the text is another', () => {
    const same = decideOver(merging({ content: holder.content }), [holder]);
    assert.equal(replaced(same).reembed, false);
  });

  it('takes the higher tier, and no expiry with long on either side', () => {
    const merged = (stored: Partial<Memory>, fresh: Partial<Memory>) => {
      const outcome = decideOver(merging(fresh), [aRow(stored)]);
      const { tier, expires_at } = replaced(outcome).image;
      return [tier, expires_at];
    };
    const day = at(86_400);
    assert.deepEqual(merged({ tier: 'long' }, { tier: 'short', expires_at: day }), ['long', null]);
    assert.deepEqual(merged({ tier: 'short', expires_at: day }, { tier: 'long' }), ['long', null]);
    assert.deepEqual(merged({ tier: 'mid', expires_at: day }, { tier: 'short', expires_at: at(1) }), [
      'mid',
      day,
    ]);
    assert.deepEqual(merged({ tier: 'short', expires_at: at(1) }, { tier: 'mid', expires_at: day }), [
      'mid',
      day,
    ]);
  });

  it('fills what the row lacks and keeps what it has', () => {
    const fresh = { citations: [{ uri: 'doc:2', accessed_at: NOW }], source_uri: 'doc:2', entity_id: 'e2' };
    const outcome = decideOver(merging({ ...incoming, ...fresh }), [holder]);
    const { image: memory } = replaced(outcome);
    assert.deepEqual(memory.citations, fresh.citations);
    assert.equal(memory.source_uri, 'doc:2');
    assert.deepEqual(memory.source_span, { start: 1, end: 2 });
    assert.equal(memory.entity_id, 'e1');
    const bare = decideOver(merging(fresh), [aRow()]);
    assert.equal(replaced(bare).image.entity_id, 'e2');
  });

  it('takes the new kind, but a reflection or persona stays one', () => {
    const kind = (stored: Memory['kind'], fresh: Memory['kind']) =>
      replaced(decideOver(merging({ kind: fresh }), [aRow({ kind: stored })])).image.kind;
    assert.equal(kind('observation', 'decision'), 'decision');
    assert.equal(kind('reflection', 'decision'), 'reflection');
    assert.equal(kind('persona', 'observation'), 'persona');
  });

  it('replaces the metadata but for what no client may change', () => {
    const stored = {
      agent_id: 'ai:writer',
      attest_level: 'claimed',
      imported_from_agent_id: 'ai:first',
      scope: 'team',
      gone: 1,
    };
    const fresh = {
      agent_id: 'ai:other',
      attest_level: 'claimed',
      imported_from_agent_id: 'ai:forged',
      attested_by: undefined,
      kept: 2,
    };
    const merged = (metadata: Record<string, unknown>) =>
      replaced(decideOver(merging({ metadata }), [aRow({ metadata: stored })])).image.metadata;
    assert.deepEqual(merged(fresh), {
      agent_id: 'ai:writer',
      attest_level: 'claimed',
      imported_from_agent_id: 'ai:first',
      scope: 'team',
      kept: 2,
    });
    assert.equal(
      merged({ ...fresh, scope: 'private' })['scope'],
      'private',
      'the writer decides who may read',
    );
    assert.equal(merged({ ...fresh, scope: 7 })['scope'], 'team');
  });

  const signed = (author: string, text = 'x') => ({
    write_signature: { signature: `${text}${author}`, created_at: NOW, public_key: 'k' },
    metadata: { agent_id: author, attest_level: 'agent_attested', attested_by: 'peer-1' },
  });

  it('has the attestation of the new text, and not that of the old', () => {
    const plain = { metadata: { agent_id: 'ai:writer', attest_level: 'claimed' } };
    const toClaimed = decideOver(merging(plain), [aRow(signed('ai:writer'))]);
    const unsigned = replaced(toClaimed).image;
    assert.equal(unsigned.write_signature, null);
    assert.deepEqual(unsigned.metadata, { agent_id: 'ai:writer', attest_level: 'claimed' });

    const fresh = signed('ai:writer', 'new');
    const toSigned = decideOver(merging(fresh), [aRow(plain)]);
    const attested = replaced(toSigned).image;
    assert.deepEqual(attested.write_signature, fresh.write_signature);
    assert.deepEqual(attested.metadata, fresh.metadata);
  });

  it('never shows a signature that does not cover the row', () => {
    // The envelope covers agent, namespace, title, kind and content: where the merge keeps the stored value of one
    // of them, the signature proves nothing about the row.
    const byAnother = decideOver(merging(signed('ai:b')), [aRow({ metadata: { agent_id: 'ai:a' } })]);
    const keptKind = decideOver(merging({ ...signed('ai:a'), kind: 'decision' }), [
      aRow({ metadata: { agent_id: 'ai:a' }, kind: 'reflection' }),
    ]);
    for (const outcome of [byAnother, keptKind]) {
      const { image: memory } = replaced(outcome);
      assert.equal(memory.metadata['attest_level'], 'claimed');
      assert.equal(memory.write_signature, null);
    }
  });

  it('is CONFLICT for a tenant who does not own the row, and names it only to those who see it', () => {
    const visible = aRow({ metadata: { agent_id: 'ai:a' } });
    const error = refused(decideOver(merging({}, { viewer: tenant('ai:b') }), [visible]));
    assert.equal(error.code, 'CONFLICT');
    assert.deepEqual(error.details, { existing_id: visible.id });
    const hidden = refused(
      decideOver(merging({}, { viewer: tenant('ai:b') }), [aRow({ metadata: PRIVATE })]),
    );
    assert.equal(hidden.code, 'CONFLICT');
    assert.equal('details' in hidden, false);
    // Neither may be merged into, so neither answer says that a merge would help.
    for (const { message } of [error, hidden]) {
      assert.match(message, /choose another title, or store both with on_conflict "version"$/);
    }
  });

  it('does not reach a row without an owner that the caller may not see', () => {
    const outcome = decideOver(merging({}, { viewer: tenant('ai:b') }), [
      aRow({ metadata: { scope: 'private' } }),
    ]);
    assert.equal(refused(outcome).code, 'CONFLICT');
  });
});
