import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SetStandard } from '../../../protocol/graph/standards.js';
import { type Standard, standardKind } from '../../../protocol/kinds/standard-kind.js';
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
  ...{ namespace: 'team/a', standard_id: 'm1', parent_namespace: null, set_by: 'ai:a' },
  ...{ updated_at: '2026-01-01T00:00:00.000Z', rest: {} },
  ...fields,
});
const held = (fields: Partial<Standard> = {}) =>
  aKindRow(standardKind, standard(fields), { namespace: 'team/a' });
const memory = aRow({ id: 'm1', namespace: 'elsewhere' });

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
    const others = [{ viewer: tenant('ai:b') }, { parent: 'team' }, { standardId: null, parent: 'team' }];
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
    for (const rows of [[], [aRow({ id: 'm1', expires_at: NOW })], [hidden]]) {
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
