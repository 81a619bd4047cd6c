import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Viewer } from '../../../protocol/base/viewer.js';
import { namespaceLineage, visibleRows } from '../../../storage/sql/visibility.js';
import { EVERYBODY, NOW, TestStore } from './store.js';

const at = (agentId: string | null, asNamespace: string | null = null): Viewer => ({
  all: false,
  agentId,
  asNamespace,
});

const sees = (
  viewer: Viewer,
  row: { scope?: unknown; namespace?: string; target?: string; expiresAt?: string },
): boolean => {
  const store = new TestStore();
  const metadata: Record<string, unknown> = { agent_id: 'owner' };
  if (row.scope !== undefined) metadata['scope'] = row.scope;
  if (row.target !== undefined) metadata['target_agent_id'] = row.target;
  store.add({
    namespace: row.namespace ?? 'a/b/c/d',
    title: 'row',
    content: 'text',
    metadata,
    ...(row.expiresAt === undefined ? {} : { expiresAt: row.expiresAt }),
  });
  const gate = visibleRows('m', viewer, NOW);
  return (
    store.database.prepare(`SELECT 1 FROM memories m WHERE ${gate.sql}`).get(gate.parameters) !== undefined
  );
};

const TABLE: readonly (readonly [string, Viewer, Parameters<typeof sees>[1], boolean])[] = [
  ['no scope is for everybody', at(null), {}, true],
  ['collective is for everybody', at('stranger'), { scope: 'collective' }, true],
  ['private is for its owner', at('owner'), { scope: 'private' }, true],
  ['private is not for others', at('stranger'), { scope: 'private' }, false],
  ['private is not for nobody', at(null), { scope: 'private' }, false],
  ['private is not for those above', at('stranger', 'a/b/c/d'), { scope: 'private' }, false],
  ['private is for its addressee', at('friend'), { scope: 'private', target: 'friend' }, true],
  ['an unknown word is private', at('stranger'), { scope: 'secret' }, false],
  ['an empty word is private', at('stranger'), { scope: '' }, false],
  ['a word that is no text is private', at('stranger'), { scope: 7 }, false],
  ['an unknown word is for its owner', at('owner'), { scope: 'secret' }, true],
  ['an unknown word is for its addressee', at('friend'), { scope: 'secret', target: 'friend' }, true],
  ['team is for its owner', at('owner'), { scope: 'team' }, true],
  ['team: the parent itself', at('x', 'a/b/c'), { scope: 'team' }, true],
  ['team: a sibling', at('x', 'a/b/c/other'), { scope: 'team' }, true],
  ['team: below a sibling', at('x', 'a/b/c/other/deep'), { scope: 'team' }, true],
  ['team: a cousin', at('x', 'a/b/other/d'), { scope: 'team' }, false],
  ['team: a name that begins alike', at('x', 'a/b/cc'), { scope: 'team' }, false],
  ['team: without a position', at('x'), { scope: 'team' }, false],
  ['team is not for an addressee', at('friend'), { scope: 'team', target: 'friend' }, false],
  ['unit: a cousin', at('x', 'a/b/other/d'), { scope: 'unit' }, true],
  ['unit: the grandparent', at('x', 'a/b'), { scope: 'unit' }, true],
  ['unit: beyond', at('x', 'a/other'), { scope: 'unit' }, false],
  ['org: far', at('x', 'a/other/y/z'), { scope: 'org' }, true],
  ['org: the root', at('x', 'a'), { scope: 'org' }, true],
  ['org: another root', at('x', 'b/b/c/d'), { scope: 'org' }, false],
  ['a row at the top has no team', at('x', 'a'), { scope: 'team', namespace: 'a' }, false],
  ['a row at the top is its owner’s', at('owner'), { scope: 'team', namespace: 'a' }, true],
  ['a row too high for its scope', at('x', 'a'), { scope: 'org', namespace: 'a/b' }, false],
  ['wildcards in names are letters', at('x', 'a%/b'), { scope: 'team', namespace: 'ax/b' }, false],
  ['all sees private rows', EVERYBODY, { scope: 'private' }, true],
  ['all does not see what expired', EVERYBODY, { expiresAt: NOW }, false],
  ['its owner does not see what expired', at('owner'), { expiresAt: NOW }, false],
  ['what expires later is there', at('owner'), { expiresAt: '2026-11-21T12:00:00.001Z' }, true],
];

for (const [claim, viewer, row, expected] of TABLE) {
  test(`visibility: ${claim}`, () => assert.equal(sees(viewer, row), expected));
}

test('an owner without a name is not an agent without a name', () => {
  const store = new TestStore();
  store.add({ title: 'row', content: 'text', metadata: { agent_id: '', scope: 'private' } });
  const gate = visibleRows('m', at(null), NOW);
  assert.equal(
    store.database.prepare(`SELECT 1 FROM memories m WHERE ${gate.sql}`).get(gate.parameters),
    undefined,
  );
});

test('the text of the gate does not depend on who asks', () => {
  assert.equal(visibleRows('m', at('a', 'x/y'), NOW).sql, visibleRows('m', at(null), 'later').sql);
});

test('a lineage goes from a namespace to its root', () => {
  assert.deepEqual(namespaceLineage('a/b/c'), ['a/b/c', 'a/b', 'a']);
  assert.deepEqual(namespaceLineage('global'), ['global']);
});
