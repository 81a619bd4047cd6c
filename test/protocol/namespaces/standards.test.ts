import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Standard, standardKind } from '../../../protocol/memory/standard-kind.js';
import type { SetStandard } from '../../../protocol/namespaces/standards.js';
import { OPERATOR, tenant } from '../../support/memories.js';
import { aKindRow, aRow, decideOver, NOW, onlyMutation, refused, taken } from '../decide/answerer.js';

const setting = (fields: Partial<SetStandard> = {}): SetStandard => ({
  kind: 'set-standard',
  namespace: 'team/a',
  standardId: 'm1',
  parent: null,
  viewer: tenant('ai:a'),
  ...fields,
});
const subject = { kind: 'standard', id: 'team/a' };
const standard = (fields: Partial<Standard> = {}): Standard => ({
  ...{ namespace: 'team/a', standard_id: 'm1', parent_namespace: null, set_by: 'ai:a', governance: null },
  ...{ operator_set: null },
  ...{ updated_at: '2026-01-01T00:00:00.000Z', rest: {} },
  ...fields,
});
const held = (fields: Partial<Standard> = {}) =>
  aKindRow(standardKind, standard(fields), { namespace: 'team/a' });
const memory = aRow({ id: 'm1', namespace: 'elsewhere', metadata: { agent_id: 'ai:a' } });

describe('setting a standard', () => {
  it('writes a first one in its own namespace', () => {
    const outcome = decideOver(setting(), [memory]);
    const image = standard({ updated_at: NOW });
    assert.deepEqual(taken(outcome).value, { standard: image });
    assert.deepEqual(onlyMutation(outcome, 'write'), {
      ...{ mutation: 'write', ...subject, word: 'standard.put', namespace: 'team/a' },
      ...{ seen: {}, before: null, image },
    });
  });

  it('replaces the one before, after all that it has seen, and keeps what it does not know of it', () => {
    const before = held({ standard_id: 'm0', rest: { zeta: 1 } });
    const outcome = decideOver(setting({ parent: 'team' }), [memory], { subjects: [before] });
    const image = standard({ parent_namespace: 'team', updated_at: NOW, rest: { zeta: 1 } });
    const write = onlyMutation(outcome, 'write');
    assert.deepEqual([write.before, write.seen, write.image], [before.image, before.stamp.seen, image]);
  });

  it('that stands already writes nothing', () => {
    const before = held();
    const outcome = decideOver(setting(), [memory], { subjects: [before] });
    assert.deepEqual(taken(outcome), { value: { standard: before.image }, mutations: [] });
    const others = [
      { parent: 'team' },
      { standardId: null, parent: 'team' },
      { governance: { write: 'any' } },
    ];
    for (const fields of others) {
      const changed = decideOver(setting(fields), [memory], { subjects: [before] });
      assert.equal(taken(changed).mutations.length, 1);
    }
  });

  it('comes back after it was cleared', () => {
    const seen = { 'peer-x/e': 3 };
    const outcome = decideOver(setting(), [memory], { tombstones: [{ ...subject, seen }] });
    const write = onlyMutation(outcome, 'write');
    assert.deepEqual([write.seen, write.before], [seen, null]);
  });

  it('may name a parent only', () => {
    const outcome = decideOver(setting({ standardId: null, parent: 'global', viewer: OPERATOR }));
    const { standard_id, parent_namespace, set_by } = taken(outcome).value.standard;
    assert.deepEqual([standard_id, parent_namespace, set_by], [null, 'global', null]);
  });

  it('refuses what cannot be, naming the field', () => {
    const cases: readonly [Partial<SetStandard>, string][] = [
      [{ namespace: 'with blanks' }, 'namespace'],
      [{ parent: 'a//b' }, 'parent'],
      [{ standardId: null }, 'id'],
      [{ parent: 'team/a' }, 'parent'],
    ];
    for (const [fields, field] of cases) {
      const { code, details } = refused(decideOver(setting(fields), [memory]));
      assert.deepEqual([code, details], ['VALIDATION_FAILED', { fields: [field] }]);
    }
  });

  it('needs a memory that lives and that the caller sees', () => {
    const hidden = aRow({ id: 'm1', metadata: { agent_id: 'ai:b', scope: 'private' } });
    const expired = aRow({ id: 'm1', metadata: { agent_id: 'ai:a' }, expires_at: NOW });
    for (const rows of [[], [expired], [hidden]]) {
      const error = refused(decideOver(setting(), rows));
      assert.deepEqual(error, { code: 'NOT_FOUND', message: 'memory not found' });
    }
    assert.equal(taken(decideOver(setting({ viewer: tenant('ai:b') }), [hidden])).mutations.length, 1);
  });
});

describe('clearing a standard', () => {
  const clearing = { kind: 'clear-standard', namespace: 'team/a' } as const;

  it('removes it after all that it has seen', () => {
    const before = held();
    const outcome = decideOver(clearing, [], { subjects: [before] });
    assert.deepEqual(taken(outcome).value, { cleared: true });
    assert.deepEqual(onlyMutation(outcome, 'remove'), {
      ...{ mutation: 'remove', ...subject, word: 'standard.drop', namespace: 'team/a' },
      ...{ seen: before.stamp.seen, before: before.image, reason: 'clear' },
      ...{ facts: { rest: {} }, keepCopy: false },
    });
  });

  it('that is not set changes nothing', () => {
    const other = aKindRow(standardKind, standard({ namespace: 'team' }));
    const outcome = decideOver(clearing, [memory], { subjects: [other] });
    assert.deepEqual(taken(outcome), { value: { cleared: false }, mutations: [] });
  });
});

describe('the policy of a standard', () => {
  it('is set member by member, beside a memory and a parent that stay', () => {
    const before = held({ parent_namespace: 'root', governance: { write: 'owner', zeta: 1 } });
    const {
      standardId: _,
      parent: _parent,
      ...rest
    } = setting({ governance: { delete: 'approve', write: 'any' } });
    const write = onlyMutation(decideOver(rest, [memory], { subjects: [before] }), 'write');
    assert.deepEqual(
      write.image,
      standard({
        parent_namespace: 'root',
        governance: { write: 'any', zeta: 1, delete: 'approve' },
        updated_at: NOW,
      }),
    );
  });

  it('loses the members that are null, and goes as a whole with null', () => {
    const before = held({ governance: { write: 'owner', zeta: 1 } });
    const without = decideOver(setting({ governance: { zeta: null } }), [memory], { subjects: [before] });
    assert.deepEqual(taken(without).value.standard.governance, { write: 'owner' });
    const gone = decideOver(setting({ governance: null }), [memory], { subjects: [before] });
    assert.equal(taken(gone).value.standard.governance, null);
  });

  it('needs no memory, and must be one that this release can read', () => {
    const alone = setting({ standardId: null, governance: { write: 'approve' } });
    assert.deepEqual(taken(decideOver(alone)).value.standard.governance, { write: 'approve' });
    const { code, details } = refused(decideOver({ ...alone, governance: { write: 'everybody' } }));
    assert.deepEqual([code, details], ['VALIDATION_FAILED', { fields: ['governance.write'] }]);
    assert.equal(refused(decideOver({ ...alone, governance: { delete: 'any' } })).code, 'VALIDATION_FAILED');
  });
});

describe('who may change a standard', () => {
  it('is the agent that set it first, and the operator', () => {
    const before = held();
    const another = { viewer: tenant('ai:b'), parent: 'team' };
    for (const command of [
      setting(another),
      { kind: 'clear-standard', namespace: 'team/a', viewer: tenant('ai:b') } as const,
    ]) {
      const error = refused(decideOver<typeof command>(command, [memory], { subjects: [before] }));
      assert.deepEqual(
        [error.code, error.message],
        ['FORBIDDEN', 'caller does not own this namespace standard'],
      );
    }
    const by = setting({ ...another, viewer: OPERATOR });
    assert.equal(taken(decideOver(by, [memory], { subjects: [before] })).value.standard.set_by, 'ai:a');
  });

  it('must own the memory, which is asked only when it is pinned', () => {
    const theirs = aRow({ id: 'm1', metadata: { agent_id: 'ai:b' } });
    assert.equal(refused(decideOver(setting(), [theirs])).code, 'FORBIDDEN');
    const kept = decideOver(setting({ parent: 'team' }), [theirs], { subjects: [held()] });
    assert.equal(taken(kept).value.standard.parent_namespace, 'team');
  });

  it('is the operator only for everybody and for namespaces of the service', () => {
    for (const namespace of ['*', '_agents', '_agents/x']) {
      assert.equal(refused(decideOver(setting({ namespace }), [memory])).code, 'FORBIDDEN', namespace);
      taken(decideOver(setting({ namespace, viewer: OPERATOR }), [memory]));
    }
  });
});

describe('unpinning a memory that was removed', () => {
  const unpinning = { kind: 'unpin-removed', namespace: 'team/a' } as const;
  const removed = { tombstones: [{ kind: 'memory', id: 'm1', seen: {} }] };

  it('removes a standard that says nothing else', () => {
    const before = held();
    const outcome = decideOver(unpinning, [], { subjects: [before], ...removed });
    assert.equal(onlyMutation(outcome, 'remove').reason, 'memory_removed');
    assert.deepEqual(taken(outcome).value, { unpinned: true });
  });

  it('keeps a parent and a policy', () => {
    for (const kept of [{ parent_namespace: 'team' }, { governance: { write: 'approve' } }]) {
      const outcome = decideOver(unpinning, [], { subjects: [held(kept)], ...removed });
      const { image } = onlyMutation(outcome, 'write');
      assert.deepEqual(image, standard({ ...kept, standard_id: null, updated_at: NOW }));
    }
  });

  it('leaves a memory that is here, and one that has not come yet', () => {
    for (const [rows, held_] of [
      [[memory], { subjects: [held()], ...removed }],
      [[], { subjects: [held()] }],
      [[], removed],
    ] as const) {
      assert.deepEqual(taken(decideOver(unpinning, rows, held_)), {
        value: { unpinned: false },
        mutations: [],
      });
    }
  });
});
