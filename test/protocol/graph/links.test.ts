import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Link } from '../../../protocol/graph/link.js';
import type { DropLink } from '../../../protocol/graph/links.js';
import { linkKind } from '../../../protocol/kinds/link-kind.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import { linking, OPERATOR, tenant } from '../../support/memories.js';
import { aKindRow, aRow, at, decideOver, NOW, onlyMutation, refused, taken } from '../decide/answerer.js';

const importing = linking('a', 'b');
const link: Link = importing.link;
const subject = { kind: 'link', id: 'a|b|related_to' };
const source = (fields: Partial<MemoryRow> = {}) => aRow({ id: 'a', namespace: 'team', ...fields });
const target = (fields: Partial<MemoryRow> = {}) => aRow({ id: 'b', namespace: 'other', ...fields });
const linked = aKindRow(linkKind, link, { namespace: 'team' });

describe('importing a link', () => {
  it('writes it where its source stands', () => {
    const outcome = decideOver(importing, [source(), target()]);
    assert.deepEqual(taken(outcome).value, { change: 'created' });
    assert.deepEqual(onlyMutation(outcome, 'write'), {
      ...{ mutation: 'write', ...subject, word: 'link', namespace: 'team' },
      ...{ seen: {}, before: null, image: link },
    });
  });

  it('leaves one that is there as it is', () => {
    const other = { ...link, attest_level: 'self_signed' };
    const outcome = decideOver({ ...importing, link: other }, [source(), target()], { subjects: [linked] });
    assert.deepEqual(taken(outcome), { value: { change: 'unchanged' }, mutations: [] });
  });

  it('brings a dropped one back after its removal', () => {
    const seen = { 'peer-x/e': 4, 'peer-y/e': 2 };
    const outcome = decideOver(importing, [source(), target()], { tombstones: [{ ...subject, seen }] });
    const write = onlyMutation(outcome, 'write');
    assert.deepEqual([write.seen, write.before], [seen, null]);
  });

  it('needs both of its ends, alive and apart', () => {
    const self = { ...importing, link: { ...link, target_id: 'a' } };
    assert.equal(refused(decideOver(self, [source(), target()])).code, 'VALIDATION_FAILED');
    const missing = [[], [source()], [target()], [source({ expires_at: NOW }), target()]];
    missing.push([source(), target({ expires_at: at(-1) })]);
    for (const rows of missing) assert.equal(refused(decideOver(importing, rows)).code, 'NOT_FOUND');
    const living = [source({ expires_at: at(0.001) }), target()];
    assert.equal(taken(decideOver(importing, living)).value.change, 'created');
  });
});

describe('dropping a link', () => {
  const dropping = (viewer = OPERATOR): DropLink => ({
    kind: 'drop-link',
    link: { source_id: 'a', target_id: 'b', relation: 'related_to' },
    viewer,
  });
  const drop = (rows: readonly MemoryRow[], viewer = OPERATOR, subjects = [linked]) =>
    decideOver(dropping(viewer), rows, { subjects });

  it('removes what is there, after all that it has seen, and says what went', () => {
    const outcome = drop([source(), target()]);
    assert.deepEqual(taken(outcome).value, { dropped: link });
    assert.deepEqual(onlyMutation(outcome, 'remove'), {
      ...{ mutation: 'remove', ...subject, word: 'link.drop', namespace: 'team', seen: linked.stamp.seen },
      ...{ before: link, reason: 'delete', facts: { rest: {} }, keepCopy: false },
    });
  });

  it('does not need its target', () => {
    assert.deepEqual(taken(drop([source()])).value, { dropped: link });
  });

  it('of what is not there, or whose source is expired or hidden, is NOT_FOUND, all alike', () => {
    const hidden = source({ metadata: { agent_id: 'ai:a', scope: 'private' } });
    const outcomes = [
      drop([source(), target()], OPERATOR, []),
      drop([target()]),
      drop([source({ expires_at: NOW })]),
      drop([hidden], tenant('ai:b')),
      // Another relation between the same two.
      decideOver({ ...dropping(), link: { ...dropping().link, relation: 'supersedes' } }, [source()], {
        subjects: [linked],
      }),
    ];
    for (const outcome of outcomes) {
      assert.deepEqual(refused(outcome), { code: 'NOT_FOUND', message: 'link not found' });
    }
  });

  it('is for those who may change its source', () => {
    const owned = source({ metadata: { agent_id: 'ai:a' } });
    assert.equal(refused(drop([owned], tenant('ai:b'))).code, 'FORBIDDEN');
    assert.deepEqual(taken(drop([owned], tenant('ai:a'))).value, { dropped: link });
  });
});
