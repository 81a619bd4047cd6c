import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TTL_SECONDS } from '../../../protocol/base/limits.js';
import type { ConsolidateMemories } from '../../../protocol/lifecycle/consolidate.js';
import type { ArchivedRow } from '../../../protocol/memory/archived-memory.js';
import { OPERATOR, tenant } from '../../support/memories.js';
import { aRow, at, decideOver, NOW, refused, taken } from '../decide/answerer.js';

const SIGNED = { signature: 's', created_at: NOW, public_key: 'k' };

describe('restoring', () => {
  const archived = (fields: Partial<ArchivedRow> = {}, row = aRow({ id: 'a' })): ArchivedRow => ({
    memory: row,
    archivedAt: NOW,
    archiveReason: 'archive',
    embeddingDim: null,
    originalTier: 'mid',
    originalExpiresAt: null,
    seen: { 'p/e': 9 },
    highestVersion: 1,
    ...fields,
  });
  const restore = (row: ArchivedRow | null, live: ReturnType<typeof aRow>[] = [], viewer = OPERATOR) =>
    decideOver({ kind: 'restore-memory', id: 'a', ttlSeconds: TTL_SECONDS, viewer, archive: true }, live, {
      archived: row === null ? [] : [row],
    });

  const expiries: readonly [string, 'short' | 'mid' | 'long', string | null, string | null, boolean][] = [
    ['none stays none', 'mid', null, null, false],
    ['a future one stays', 'mid', at(60), at(60), false],
    ['a past one is renewed', 'short', at(-60), at(TTL_SECONDS.short), true],
    ['one that passes now is renewed', 'mid', NOW, at(TTL_SECONDS.mid), true],
    ['a long row gets none', 'long', at(-60), null, true],
  ];
  for (const [name, tier, original, expected, renewed] of expiries) {
    it(`expiry: ${name}`, () => {
      const { value } = taken(restore(archived({ originalTier: tier, originalExpiresAt: original })));
      assert.deepEqual(
        [value.memory.tier, value.memory.expires_at, value.expiryRenewed],
        [tier, expected, renewed],
      );
      assert.deepEqual(value.memory.seen, { 'p/e': 9 }, 'the removal has been seen');
    });
  }

  it('is refused with a reason that shows nothing hidden', () => {
    assert.equal(refused(restore(null)).code, 'NOT_FOUND');
    const hidden = archived({}, aRow({ id: 'a', metadata: { agent_id: 'ai:b', scope: 'private' } }));
    assert.equal(refused(restore(hidden, [], tenant('ai:a'))).code, 'NOT_FOUND');
    assert.equal(
      refused(restore(archived(), [aRow({ id: 'a', title: 'else' })])).code,
      'ARCHIVE_RESTORE_COLLISION',
    );
    const secret = aRow({ id: 'b', metadata: { agent_id: 'ai:b', scope: 'private' } });
    const mine = archived({}, aRow({ id: 'a', metadata: { agent_id: 'ai:a' } }));
    const collision = refused(restore(mine, [secret], tenant('ai:a')));
    assert.deepEqual([collision.code, collision.details], ['ARCHIVE_RESTORE_COLLISION', undefined]);
  });
});

describe('consolidating', () => {
  const command = (rest: Partial<ConsolidateMemories> = {}): ConsolidateMemories => ({
    kind: 'consolidate-memories',
    ids: ['a', 'b'],
    result: { id: 'sum', title: 'sum', namespace: 'global', tier: 'long', expiresAt: null },
    summary: null,
    onConflict: 'error',
    agentId: 'ai:me',
    viewer: OPERATOR,
    archive: true,
    ...rest,
  });
  const a = aRow({
    id: 'a',
    title: 'a',
    write_signature: SIGNED,
    metadata: {
      agent_id: 'ai:a',
      attest_level: 'agent_attested',
      attested_by: 'p',
      imported_from_agent_id: 'x',
    },
  });
  const b = aRow({ id: 'b', title: 'b', metadata: { agent_id: 'ai:a', imported_from_agent_id: 'x' } });

  it('archives the sources before it inserts, and is claimed', () => {
    const { mutations, value } = taken(decideOver(command(), [a, b]));
    assert.deepEqual(
      mutations.map((mutation) => [
        mutation.mutation,
        'word' in mutation && mutation.word,
        'reason' in mutation ? mutation.reason : null,
      ]),
      [
        ['remove', 'archive', 'consolidate'],
        ['remove', 'archive', 'consolidate'],
        ['write', 'store', null],
        ['write', 'link', null],
        ['write', 'link', null],
        ['append-audit', false, null],
      ],
    );
    assert.equal(value.memory.write_signature, null);
    assert.deepEqual(value.memory.metadata, {
      agent_id: 'ai:a',
      attest_level: 'claimed',
      imported_from_agent_id: 'x',
      derived_from: ['a', 'b'],
    });
  });

  it('may take the title of a source, but of no other row', () => {
    const titled = (title: string) => command({ result: { ...command().result, title } });
    assert.equal(taken(decideOver(titled('a'), [a, b])).mutations.length, 6);
    const c = aRow({ id: 'c', title: 'c' });
    const conflict = refused(decideOver(titled('c'), [a, b, c]));
    assert.deepEqual([conflict.code, conflict.details], ['CONFLICT', { existing_id: 'c' }]);
    const next = taken(decideOver({ ...titled('c'), onConflict: 'version' }, [a, b, c]));
    assert.equal(next.value.memory.title, 'c (2)');
    const stale = taken(decideOver(titled('c'), [a, b, { ...c, expires_at: at(-1) }]));
    assert.equal(stale.mutations.length, 7, 'an expired holder gives way');
  });

  it('names every missing id, and an invisible one like an unknown one', () => {
    const hidden = aRow({ id: 'h', title: 'h', metadata: { agent_id: 'ai:b', scope: 'private' } });
    const gone = aRow({ id: 'g', title: 'g', expires_at: at(-1) });
    const outcome = decideOver(command({ ids: ['a', 'h', 'g', 'n'], viewer: tenant('ai:a') }), [
      a,
      hidden,
      gone,
    ]);
    assert.deepEqual(refused(outcome).details, { missing: ['h', 'g', 'n'] });
    assert.equal(refused(decideOver(command({ viewer: tenant('ai:z') }), [a, b])).code, 'FORBIDDEN');
  });
});

describe('promoting upwards', () => {
  const row = aRow({
    id: 'a',
    namespace: 'x/y/z',
    tier: 'mid',
    expires_at: at(60),
    write_signature: SIGNED,
    metadata: { agent_id: 'ai:a', attest_level: 'agent_attested', attested_by: 'p', scope: 'private' },
  });
  const promote = (toNamespace: string, rows = [row], viewer = OPERATOR) =>
    decideOver(
      {
        kind: 'promote-memory',
        id: 'a',
        targetTier: 'long',
        vertical: { toNamespace, cloneId: 'clone' },
        viewer,
        archive: true,
      },
      rows,
    );

  it('clones into a proper ancestor and leaves the original', () => {
    for (const namespace of ['x', 'x/y']) {
      const { value, mutations } = taken(promote(namespace));
      assert.deepEqual(
        mutations.map((mutation) => [mutation.mutation, 'before' in mutation && mutation.before]),
        [
          ['write', null],
          ['write', null],
        ],
      );
      const { id, tier, expires_at, version, write_signature, metadata } = value.memory;
      assert.deepEqual([id, tier, expires_at, version, write_signature], ['clone', 'mid', at(60), 1, null]);
      assert.deepEqual(metadata, {
        agent_id: 'ai:a',
        scope: 'private',
        attest_level: 'claimed',
        derived_from: ['a'],
      });
    }
  });

  it('refuses any other namespace, a taken title, and others', () => {
    for (const namespace of ['x/y/z', 'x/y/z/w', 'global', 'x/other', 'x/y/', 'xx']) {
      assert.equal(refused(promote(namespace)).code, 'VALIDATION_FAILED', namespace);
    }
    assert.equal(refused(promote('x', [row, aRow({ id: 'b', namespace: 'x' })])).code, 'CONFLICT');
    assert.equal(refused(promote('x', [row], tenant('ai:b'))).code, 'NOT_FOUND');
  });
});

describe('undoing an edit', () => {
  const row = aRow({
    id: 'a',
    title: 'new',
    tier: 'long',
    version: 4,
    write_signature: SIGNED,
    metadata: { agent_id: 'ai:a', attest_level: 'agent_attested', extra: 1 },
  });
  const before = {
    ...aRow({ id: 'a', title: 'old', metadata: { agent_id: 'ai:forged', attest_level: 'x' } }),
  };
  const undo = (lastEdit: Parameters<typeof decideOver>[2] & object, current = row, viewer = OPERATOR) =>
    decideOver({ kind: 'undo-edit', id: 'a', dryRun: false, viewer, archive: true }, [current], lastEdit);

  it('keeps owner, tier and attestation to the rules, and grows the version', () => {
    const { memory } = taken(undo({ lastEdit: { before, after: null } })).value;
    assert.deepEqual(
      [memory.title, memory.tier, memory.version, memory.write_signature],
      ['old', 'long', 5, null],
    );
    assert.deepEqual(memory.metadata, { agent_id: 'ai:a', attest_level: 'claimed' });
  });

  it('leaves an attested text attested when the edit did not touch it', () => {
    const image = { ...row, priority: 1 };
    const { memory } = taken(undo({ lastEdit: { before: image, after: null } })).value;
    assert.deepEqual([memory.priority, memory.write_signature], [1, SIGNED]);
  });

  it('takes an expiry back only when the edit had set it', () => {
    const current = { ...row, tier: 'mid' as const, expires_at: at(600) };
    const image = { ...before, expires_at: at(60) };
    const expiry = (after: string | null) =>
      taken(undo({ lastEdit: { before: image, after: { ...image, expires_at: after } } }, current)).value
        .memory.expires_at;
    assert.equal(expiry(at(600)), at(60));
    assert.equal(expiry(at(60)), at(600), 'reading has moved it since');
  });

  it('says clearly why there is nothing to undo', () => {
    assert.equal(refused(undo({ lastEdit: null })).code, 'NOT_FOUND');
    assert.equal(refused(undo({ lastEdit: { before: null, after: null } })).code, 'CONFLICT');
    assert.equal(refused(undo({ lastEdit: null }, row, tenant('ai:b'))).code, 'FORBIDDEN');
  });
});
