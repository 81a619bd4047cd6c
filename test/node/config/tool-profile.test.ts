import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { familyGrantOf, permittedFamilies } from '../../../node/config/tool-allowlist.js';
import { FAMILIES } from '../../../node/config/tool-families.js';
import { profileName, profileOf, profileProblem } from '../../../node/config/tool-profile.js';

describe('a profile', () => {
  it('is the families of its words, core among them, each once and in order', () => {
    for (const [text, families] of [
      ['', 'core'],
      [' , ,', 'core'],
      ['core', 'core'],
      ['graph', 'core,graph'],
      ['admin', 'core,lifecycle,governance'],
      ['power', 'core,power'],
      ['archive,lifecycle', 'core,lifecycle,archive'],
      ['graph, graph,admin,core', 'core,lifecycle,graph,governance'],
      ['meta,full', 'full'],
      [FAMILIES.join(','), 'full'],
    ] as const) {
      assert.equal(profileProblem(text), null, text);
      assert.equal(profileName(profileOf(text)), families, text);
    }
    assert.deepEqual(profileOf('full'), [...FAMILIES]);
  });

  it('refuses other words, and upper case, with the valid ones', () => {
    for (const [text, problem] of [
      [
        'everything',
        /^"everything" is no profile and no family: the profiles are core, graph, admin, power, full/,
      ],
      [
        'core,memory_store',
        /^"memory_store" is no .* the families core, lifecycle, graph, governance, power, meta/,
      ],
      ['core,Graph', /^"Graph" must be in lower case: the profiles are/],
      ['FULL', /^"FULL" must be in lower case/],
      ['core;graph', /^"core;graph" is no/],
      ['constructor', /^"constructor" is no/],
      ['__proto__', /^"__proto__" is no/],
    ] as const) {
      assert.match(profileProblem(text) ?? '', problem);
    }
    assert.ok(profileProblem('x'.repeat(100_000))!.length < 300);
  });
});

describe('the allowlist of tools', () => {
  const list = (entries: Record<string, readonly string[]>) =>
    Object.entries(entries).map(([agent, families]) => {
      const grant = familyGrantOf({ agent, families });
      assert.ok(typeof grant === 'object', String(grant));
      return grant;
    });

  it('takes the entry of the id, then the longest beginning, then the star, else nothing', () => {
    const allowlist = list({
      '*': ['core'],
      'ai:team': ['meta'],
      'ai:team/ann': ['full'],
      'ai:team/ann2': [],
    });
    assert.deepEqual(permittedFamilies(allowlist, 'ai:team/ann'), [...FAMILIES]);
    assert.deepEqual(permittedFamilies(allowlist, 'ai:team/ann2'), []);
    assert.deepEqual(permittedFamilies(allowlist, 'ai:team/bob'), ['meta']);
    assert.deepEqual(permittedFamilies(allowlist, 'ai:tea'), ['core']);
    assert.deepEqual(permittedFamilies(list({ 'ai:ann': ['core'] }), 'ai:bob'), []);
    assert.deepEqual(permittedFamilies([], 'ai:bob'), [], 'an empty section denies everybody');
    assert.deepEqual(permittedFamilies(null, 'ai:bob'), [...FAMILIES], 'no section denies nobody');
  });

  it('refuses what is no agent or no list of families', () => {
    for (const [agent, families, problem] of [
      ['', ['core'], /is no agent id/],
      ['a b', ['core'], /is no agent id/],
      ['ai:*', ['core'], /is no agent id/],
      ['ai:ann', 'core', /must be a list of families/],
      ['ai:ann', [1], /must be a list of families/],
      ['ai:ann', { core: true }, /must be a list of families/],
      ['ai:ann', ['admin'], /has "admin": the families are core, lifecycle.* or full for all/],
      ['ai:ann', ['Core'], /has "Core"/],
      ['ai:ann', ['toString'], /has "toString"/],
    ] as const) {
      const refused = familyGrantOf({ agent, families });
      assert.ok(typeof refused === 'string');
      assert.match(refused, problem);
    }
  });
});
