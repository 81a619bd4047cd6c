import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CONTENT_BYTES_MAX, TAGS_MAX } from '../../../protocol/base/limits.js';
import { excerpt, utf8Bytes } from '../../../protocol/base/utf8.js';
import {
  audienceOf,
  commonKind,
  plainSummary,
  unionOfTags,
} from '../../../protocol/lifecycle/consolidation.js';
import { contradictionPairs, potentialContradictions } from '../../../protocol/lifecycle/contradictions.js';
import { aMemory } from '../../support/memories.js';
import fc from '../../support/properties.js';

const owned = (agent: string | null, scope?: string, namespace = 'a/b') =>
  aMemory({
    namespace,
    metadata: { ...(agent === null ? {} : { agent_id: agent }), ...(scope === undefined ? {} : { scope }) },
  });

describe('a plain summary', () => {
  it('has every text under its title, the oldest first, and a repeated text once', () => {
    const text = plainSummary([
      aMemory({ title: 'late', content: 'x', created_at: '2026-02-01T00:00:00.000Z' }),
      aMemory({ title: 'early', content: ' same\n', created_at: '2026-01-01T00:00:00.000Z' }),
      aMemory({ title: 'copy', content: 'same', created_at: '2026-01-02T00:00:00.000Z' }),
    ]);
    assert.equal(text, '# early / copy\nsame\n\n# late\nx');
  });

  it('shares the room fairly: a short text stays whole beside long ones', () => {
    const long = 'word '.repeat(13_000);
    const text = plainSummary([
      aMemory({ title: 'a', content: long }),
      aMemory({ title: 'b', content: 'the short one' }),
      aMemory({ title: 'c', content: `${long}x` }),
    ]);
    assert.ok(text.includes('# b\nthe short one'));
    assert.ok(utf8Bytes(text) <= CONTENT_BYTES_MAX);
    const [a, c] = ['a', 'c'].map((title) => text.split(`# ${title}\n`)[1]!.split('\n\n')[0]!.length);
    assert.ok(Math.abs(a! - c!) < 100, `${a} and ${c}`);
  });

  it('never exceeds the limit of a content', () => {
    const memory = fc.record({
      title: fc.oneof(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
        fc.constant('題'.repeat(512)),
      ),
      content: fc.oneof(
        fc.constant('𝕏'.repeat(16_000)),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }),
      ),
    });
    fc.assert(
      fc.property(fc.array(memory, { minLength: 2, maxLength: 100 }), (fields) => {
        const text = plainSummary(fields.map((field) => aMemory(field)));
        assert.ok(utf8Bytes(text) <= CONTENT_BYTES_MAX);
        assert.ok(text.isWellFormed());
        assert.ok(text.trim() !== '');
      }),
      { numRuns: 30 },
    );
  });

  it('cuts between words and says so', () => {
    assert.equal(excerpt('one two three', 12), 'one two…');
    assert.equal(excerpt('one two three', 13), 'one two three');
    assert.equal(excerpt('abcdefghij', 6), 'abc…');
    assert.equal(excerpt('abc', 2), '');
  });
});

describe('the audience of a consolidation', () => {
  const cases: readonly [
    string,
    Parameters<typeof audienceOf>[0],
    { owner: string; scope: string | null } | null,
  ][] = [
    ['all open, one owner', [owned('ai:a'), owned('ai:a', 'collective')], { owner: 'ai:a', scope: null }],
    ['all open, several owners', [owned('ai:a'), owned('ai:b')], { owner: 'ai:me', scope: null }],
    ['all open, nobody’s', [owned(null), owned(null)], { owner: 'ai:me', scope: null }],
    ['one private', [owned('ai:a', 'private'), owned('ai:b')], { owner: 'ai:a', scope: 'private' }],
    [
      'an unknown scope is private',
      [owned('ai:a', 'secret'), owned('ai:a')],
      { owner: 'ai:a', scope: 'private' },
    ],
    ['privates of two', [owned('ai:a', 'private'), owned('ai:b', 'private')], null],
    ['private and team of two', [owned('ai:a', 'private'), owned('ai:b', 'team')], null],
    ['one team, same namespace', [owned('ai:a', 'team'), owned('ai:a')], { owner: 'ai:a', scope: 'team' }],
    ['team of elsewhere', [owned('ai:a', 'team', 'x/y'), owned('ai:a')], { owner: 'ai:a', scope: 'private' }],
    ['team and org', [owned('ai:a', 'team'), owned('ai:a', 'org')], { owner: 'ai:a', scope: 'private' }],
  ];
  for (const [name, sources, expected] of cases) {
    it(name, () => {
      const result = audienceOf(sources, 'a/b', 'ai:me');
      if (expected === null) assert.equal(!result.ok && result.error.code, 'FORBIDDEN');
      else assert.deepEqual(result.ok && result.value, expected);
    });
  }

  it('joins tags up to the limit and keeps a plain common kind', () => {
    const many = Array.from({ length: 40 }, (_, n) => `t${n}`);
    const tags = unionOfTags([
      aMemory({ tags: many }),
      aMemory({ tags: ['t1', ...many.map((t) => `x${t}`)] }),
    ]);
    assert.equal(tags.length, TAGS_MAX);
    assert.deepEqual(tags.slice(38, 42), ['t38', 't39', 'xt0', 'xt1']);
    assert.equal(commonKind([aMemory({ kind: 'decision' }), aMemory({ kind: 'decision' })]), 'decision');
    assert.equal(commonKind([aMemory({ kind: 'decision' }), aMemory({ kind: 'event' })]), 'observation');
    assert.equal(commonKind([aMemory({ kind: 'persona' }), aMemory({ kind: 'persona' })]), 'observation');
  });
});

describe('contradiction candidates', () => {
  const about = (title: string, content: string, topic?: string) =>
    aMemory({ title, content, metadata: topic === undefined ? {} : { topic } });
  const pairs = (memories: readonly ReturnType<typeof about>[], same = false) =>
    contradictionPairs(memories, same, new Set()).links.length;

  it('are about the same and differ', () => {
    assert.equal(pairs([about('The deploy window', 'x'), about('deploy windows (2)', 'y')]), 1);
    assert.equal(pairs([about('deploy window', 'x'), about('deploy window', ' x ')]), 0);
    assert.equal(pairs([about('deploy window', 'x'), about('lunch menu', 'y')]), 0);
    assert.equal(pairs([about('a', 'x', 't'), about('b', 'y', 't'), about('a', 'z')]), 1);
    assert.equal(pairs([about('a', 'x'), about('b', 'y')], true), 1);
  });

  it('are bounded in number', () => {
    const many = Array.from({ length: 200 }, (_, n) => about('same', `says ${n}`));
    assert.equal(pairs(many), 1000);
  });
});

describe('potential contradictions of a title', () => {
  const ids = (title: string, ...titles: string[]) =>
    potentialContradictions(
      title,
      titles.map((other, index) => ({ id: String(index), title: other })),
    );

  it('share three tenths of the telling words, the most similar first', () => {
    // 3 of 10 words, 2 of 7.
    assert.deepEqual(ids('a1 b1 c1 d1 e1', 'a1 b1 c1 f1 g1 h1 i1 j1', 'a1 b1 f1 g1'), ['0']);
    assert.deepEqual(ids('the deploy window', 'deploy night', 'windows of deploys', 'lunch'), ['1', '0']);
  });

  it('are nothing for shared stop-words, and something where there are only those', () => {
    assert.deepEqual(ids('the state of the port', 'the state of the art of the who'), ['0']);
    assert.deepEqual(ids('about the port', 'about the ship'), []);
    assert.deepEqual(ids('to be or not', 'not to be or'), ['0']);
    assert.deepEqual(ids('?', '?'), []);
  });

  it('do not mind the number of a version, and are five at most', () => {
    assert.deepEqual(ids('plan (7)', 'plan', 'plan (2)'), ['0', '1']);
    assert.equal(ids('plan', ...Array.from({ length: 9 }, (_, n) => `plan ${n}`)).length, 5);
  });
});
