import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { foldedAlias } from '../../../protocol/memory/entity.js';
import { mergedGovernance, shownGovernance } from '../../../protocol/namespaces/policy-members.js';
import { standardChain } from '../../../protocol/namespaces/standard-chain.js';
import { type TaxonomyNode, taxonomyOf } from '../../../protocol/namespaces/taxonomy.js';
import fc from '../../support/properties.js';

describe('the form in which aliases are compared', () => {
  it('is one for the spellings of one name', () => {
    for (const [a, b] of [
      ['Ada', 'ADA'],
      ['Straße', 'STRASSE'],
      ['ΟΔΥΣΣΕΥΣ', 'Οδυσσευς'],
      ['Zoe\u0308', 'Zoë'],
      ['ＡＣＭＥ', 'acme'],
      ['Ada  Lovelace ', 'ada lovelace'],
      ['ada\u00a0lovelace', 'Ada Lovelace'],
    ] as const) {
      assert.equal(foldedAlias(a), foldedAlias(b), `${a} and ${b}`);
    }
    assert.notEqual(foldedAlias('Zoe'), foldedAlias('Zoë'));
  });

  it('is its own form', () => {
    const same = (name: string) => assert.equal(foldedAlias(foldedAlias(name)), foldedAlias(name));
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), same));
  });
});

describe('the chain of a namespace', () => {
  const chain = (namespace: string, parents: Record<string, string> = {}) =>
    standardChain(namespace, (at) => parents[at] ?? null);

  it('goes from everybody over the ancestors to the namespace', () => {
    assert.deepEqual(chain('a/b/c'), ['*', 'a', 'a/b', 'a/b/c']);
    assert.deepEqual(chain('a'), ['*', 'a']);
    assert.deepEqual(chain('*'), ['*']);
  });

  it('takes a parent in place of the ancestors', () => {
    assert.deepEqual(chain('a/b', { 'a/b': 'x/y' }), ['*', 'x', 'x/y', 'a/b']);
    assert.deepEqual(chain('a/b/c', { 'a/b': 'x' }), ['*', 'x', 'a/b', 'a/b/c']);
    assert.deepEqual(chain('a/b', { 'a/b': '*' }), ['*', 'a/b']);
  });

  it('ends where parents lead back, and where they are too many', () => {
    assert.deepEqual(chain('a', { a: 'b', b: 'a' }), ['*', 'b', 'a']);
    assert.deepEqual(chain('a/b', { a: 'a/b' }), ['*', 'a', 'a/b']);
    const endless = standardChain('n0', (at) => `n${Number(at.slice(1)) + 1}`);
    assert.equal(endless.length, 33);
    assert.equal(endless.at(-1), 'n0');
  });
});

describe('a policy', () => {
  const merge = (given: Record<string, unknown>, stored: Record<string, unknown> | null = null) => {
    const merged = mergedGovernance(stored, given);
    return merged.ok ? merged.value : merged.error.details;
  };

  it('says at least who may write, takes no member that it does not know, and keeps a stored one', () => {
    assert.deepEqual(merge({}), { fields: ['governance.write'] });
    assert.deepEqual(merge({ write: 'any', later: { deep: [1] } }), { fields: ['governance.later'] });
    const stored = { write: 'any', later: { deep: [1] } };
    assert.deepEqual(merge({ write: 'owner' }, stored), { ...stored, write: 'owner' });
    assert.deepEqual(merge(stored, stored), stored);
    assert.deepEqual(merge({ delete: 'any' }, { write: 'owner' }), { write: 'owner', delete: 'any' });
    assert.deepEqual(merge({ write: null }, { write: 'owner' }), { fields: ['governance.write'] });
  });

  it('refuses values that no node could act on, naming the member', () => {
    const wrong: readonly [string, unknown][] = [
      ['promote', 'all'],
      ['inherit', 'yes'],
      ['approver', 'robot'],
      ['approver', { agent: 'a b' }],
      ['approver', { consensus: 0 }],
      ['approver', { consensus: 2, agent: 'ai:a' }],
      ['approver', {}],
      ['max_reflection_depth', -1],
      ['auto_atomise_mode', 'later'],
      ['confidence_decay_half_life_days', 0],
    ];
    for (const [member, value] of wrong) {
      assert.deepEqual(merge({ write: 'any', [member]: value }), { fields: [`governance.${member}`] });
    }
    for (const approver of ['human', { agent: 'ai:a' }, { consensus: 3 }]) {
      assert.deepEqual(merge({ write: 'any', approver }), { write: 'any', approver });
    }
    assert.deepEqual(merge({ write: 'any' }, { note: 'x'.repeat(20_000) }), { fields: ['governance'] });
  });

  it('is shown with what it means where it says nothing', () => {
    assert.equal(shownGovernance(null), null);
    assert.deepEqual(shownGovernance({ write: 'owner', zeta: 1 }), {
      ...{
        write: 'owner',
        promote: 'any',
        delete: 'owner',
        read: 'any',
        approver: 'human',
        inherit: true,
        zeta: 1,
      },
    });
  });
});

describe('the tree of namespaces', () => {
  const ROWS = Object.entries({ a: 1, 'a/b': 2, 'a/b/c/d': 4, 'a/x': 8, z: 16 });
  const rows = ROWS.map(([namespace, count]) => ({ namespace, count }));
  const all = { prefix: null, depth: 8, limit: 1000 };
  const flat = (nodes: readonly TaxonomyNode[]): readonly string[] =>
    nodes.flatMap(({ namespace, count, subtree_count, children }) => [
      `${namespace} ${count}/${subtree_count}`,
      ...flat(children),
    ]);

  it('counts each namespace and all below it', () => {
    const { tree, total_count, truncated } = taxonomyOf(rows, all);
    assert.deepEqual(flat(tree), ['a 1/15', 'a/b 2/6', 'a/b/c 0/4', 'a/b/c/d 4/4', 'a/x 8/8', 'z 16/16']);
    assert.deepEqual([total_count, truncated], [31, false]);
    assert.deepEqual(
      tree.map(({ namespace }) => namespace),
      ['a', 'z'],
    );
  });

  it('begins at a prefix and goes down as far as asked', () => {
    const below = rows.filter(({ namespace }) => namespace === 'a/b' || namespace.startsWith('a/b/'));
    const from = (depth: number) => flat(taxonomyOf(below, { ...all, prefix: 'a/b', depth }).tree);
    assert.deepEqual(from(8), ['a/b 2/6', 'a/b/c 0/4', 'a/b/c/d 4/4']);
    assert.deepEqual(from(1), ['a/b 2/6', 'a/b/c 0/4']);
    assert.deepEqual(from(0), ['a/b 2/6']);
    assert.deepEqual(flat(taxonomyOf(rows, { ...all, depth: 1 }).tree), ['a 1/15', 'z 16/16']);
    assert.deepEqual(taxonomyOf(rows, { ...all, depth: 0 }), { tree: [], total_count: 31, truncated: false });
    assert.deepEqual(taxonomyOf([], { ...all, prefix: 'q' }), { tree: [], total_count: 0, truncated: false });
  });

  it('keeps the namespaces with the most rows when there are too many', () => {
    const { tree, total_count, truncated } = taxonomyOf(rows, { ...all, limit: 3 });
    assert.deepEqual(flat(tree), ['a 1/15', 'a/x 8/8', 'z 16/16']);
    assert.deepEqual([total_count, truncated], [31, true]);
    assert.equal(taxonomyOf(rows, { ...all, limit: 6 }).truncated, false);
  });
});
