import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DropLinks } from '../../../protocol/graph/links.js';
import type { Link } from '../../../protocol/links/link.js';
import { linkKind } from '../../../protocol/links/link-kind.js';
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

describe('dropping links', () => {
  const other: Link = { ...link, relation: 'supersedes' };
  const dropping = (viewer = OPERATOR, relation: DropLinks['relation'] = 'related_to'): DropLinks => ({
    ...{ kind: 'drop-links', sourceId: 'a', targetId: 'b', relation, viewer },
  });
  const both = [linked, aKindRow(linkKind, other, { namespace: 'team' })];
  const drop = (rows: readonly MemoryRow[], viewer = OPERATOR, subjects = [linked]) =>
    decideOver(dropping(viewer), rows, { subjects });

  it('removes what is there, after all that it has seen, and says what went', () => {
    const outcome = drop([source(), target()]);
    assert.deepEqual(taken(outcome).value, { dropped: [link] });
    assert.deepEqual(onlyMutation(outcome, 'remove'), {
      ...{ mutation: 'remove', ...subject, word: 'link.drop', namespace: 'team', seen: linked.stamp.seen },
      ...{ before: link, reason: 'delete', facts: { rest: {} }, keepCopy: false },
    });
  });

  it('of no named relation removes all of the pair, of a named one that alone', () => {
    const all = decideOver(dropping(OPERATOR, null), [source(), target()], { subjects: both });
    assert.deepEqual(taken(all).value.dropped, [link, other]);
    assert.equal(taken(all).mutations.length, 2);
    assert.deepEqual(taken(drop([source(), target()], OPERATOR, both)).value.dropped, [link]);
  });

  it('removes nothing where nothing is, or an end is missing, expired or hidden, all alike', () => {
    const owned = { metadata: { agent_id: 'ai:a', scope: 'private' } };
    const outcomes = [
      drop([source(), target()], OPERATOR, []),
      drop([target()]),
      drop([source()]),
      drop([source({ expires_at: NOW }), target()]),
      drop([source(owned), target()], tenant('ai:b')),
      drop([source({ metadata: { agent_id: 'ai:b' } }), target(owned)], tenant('ai:b')),
      decideOver(dropping(OPERATOR, 'advances'), [source(), target()], { subjects: both }),
    ];
    for (const outcome of outcomes)
      assert.deepEqual(taken(outcome), { value: { dropped: [] }, mutations: [] });
  });

  it('is for the owner of either end', () => {
    const ends = [source({ metadata: { agent_id: 'ai:a' } }), target({ metadata: { agent_id: 'ai:b' } })];
    assert.equal(refused(drop(ends, tenant('ai:c'))).code, 'FORBIDDEN');
    for (const owner of ['ai:a', 'ai:b'])
      assert.deepEqual(taken(drop(ends, tenant(owner))).value.dropped, [link]);
    // Where no link is there is nothing to forbid.
    assert.deepEqual(taken(drop(ends, tenant('ai:c'), [])).value.dropped, []);
  });
});
