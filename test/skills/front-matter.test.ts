import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readFrontMatter } from '../../node/operations/skills/front-matter.js';
import { readSkillText } from '../../node/operations/skills/skill-text.js';
import { systemCrypto } from '../../node/seams.js';
import { writeSkillText } from '../../protocol/skills/manifest.js';
import { skillDigest } from '../../protocol/skills/skill-digest.js';
import fc from '../support/properties.js';

async function members(text: string): Promise<unknown> {
  const read = await readFrontMatter(text);
  assert.ok(read.ok, read.ok ? '' : read.problem);
  return read.members;
}

async function problem(text: string): Promise<string> {
  const read = await readFrontMatter(text);
  assert.ok(!read.ok, JSON.stringify(read));
  return read.problem;
}

describe('a front matter', () => {
  const cases: readonly (readonly [text: string, value: unknown])[] = [
    ['a: b', { a: 'b' }],
    ['a: b # c\nd: e#f', { a: 'b', d: 'e#f' }],
    ['# only\n\n  # comments', {}],
    [
      'a: 1\nb: -2.5e3\nc: 007\nd: 99999999999999999999\ne: -0',
      { a: 1, b: -2500, c: '007', d: '99999999999999999999', e: 0 },
    ],
    [
      'a: true\nb: False\nc: ~\nd: null\ne:\nf: yes',
      { a: true, b: false, c: null, d: null, e: null, f: 'yes' },
    ],
    [`a: "x: \\"y\\"\\n\\u00e9\\x41"\nb: 'it''s # one'`, { a: 'x: "y"\né\u0041', b: "it's # one" }],
    ['a: http://x.example/y:z', { a: 'http://x.example/y:z' }],
    ['a: first\n  second\n  third\nb: c', { a: 'first second third', b: 'c' }],
    [
      'a: >-\n  one\n  two\n\n  three\nb: |\n  x\n    y\n\nc: |+\n  z\n\n',
      { a: 'one two\nthree', b: 'x\n  y\n', c: 'z\n\n' },
    ],
    [
      'a:\n- b\n- c: 1\n  d: [2, "3", four]\n-\n- - x\n  - y\nz: 1',
      { a: ['b', { c: 1, d: [2, '3', 'four'] }, null, ['x', 'y']], z: 1 },
    ],
    ['a:\n  b:\n    c: d\n  e: f', { a: { b: { c: 'd' }, e: 'f' } }],
    [
      'a: {b: c, "d e": [1, {f: null}], g: http://x}\nh: []\ni: {}',
      { a: { b: 'c', 'd e': [1, { f: null }], g: 'http://x' }, h: [], i: {} },
    ],
    ['a: [\n  "x",\n  y,\n]\nb: 1', { a: ['x', 'y'], b: 1 }],
    ['a: Bash(git:*)\r\nb: c\r', { a: 'Bash(git:*)', b: 'c' }],
    ['"a b": 1\n\'c\': 2', { 'a b': 1, c: 2 }],
    ['a: |\n  - no list\n  # no comment\nb: 1', { a: '- no list\n# no comment\n', b: 1 }],
  ];
  for (const [text, value] of cases)
    it(`is read: ${JSON.stringify(text)}`, async () => assert.deepEqual(await members(text), value));

  const wrong: readonly (readonly [text: string, says: RegExp])[] = [
    ['a: &x b', /anchors/],
    ['a: *x', /line 2: |aliases/],
    ['a: !!str b', /tags/],
    ['a: !x b', /tags|line 2: /],
    ['? [a]\n: b', /texts as keys/],
    ['<<: {a: 1}', /"<<", which is not taken/],
    ['"<<": 1', /"<<", which is not taken/],
    ['a: 1\na: 2', /says "a" again/],
    ['__proto__: 1', /"__proto__"/],
    ['a: {"__proto__": 1}', /is not taken/],
    ['a: [1, 2', /line \d+: /],
    ['a: "x', /line \d+: /],
    ['a: "\\q"', /escape/],
    ['a: "x" y', /line 2: /],
    ['a: b: c', /line 2: /],
    ['  a: 1\nb: 2', /line 3: /],
    ['a:\n\tb: 1', /tab/i],
    ['- a', /must be a list of "key: value" lines/],
    ['a: 1\n- b', /line 3: /],
    ['%YAML 1.2\na: 1', /line \d+: /],
    ['a: 1\n...\nb: 2', /./],
    [`a: ${'['.repeat(40)}${']'.repeat(40)}`, /16 levels/],
    [`a: ${'['.repeat(60_000)}`, /call stack|too deep/],
    [Array.from({ length: 40 }, (_, at) => `${' '.repeat(at)}a:`).join('\n'), /16 levels/],
    ['- '.repeat(40), /16 levels/],
  ];
  for (const [text, says] of wrong)
    it(`is refused: ${JSON.stringify(text.slice(0, 60))}`, async () =>
      assert.match(await problem(text), says));

  it('is read in time that grows with its length', async () => {
    const texts = [
      `a${' '.repeat(20_000)}`,
      `a: ${'"'.repeat(20_000)}`,
      `a: ${'['.repeat(20_000)}`,
      `${'a: {b: c}\n'.repeat(2000)}`,
      `a: ${'x#'.repeat(10_000)}`,
      `${'a:b'.repeat(20_000)}`,
      `a: [${'{'.repeat(20_000)}`,
      `a:\n${'- {a: 1}\n'.repeat(2000)}`,
    ];
    const begun = performance.now();
    for (const text of texts) await readFrontMatter(text);
    assert.ok(performance.now() - begun < 5000);
  });

  it('never fails in another way than by saying what is wrong', async () => {
    const piece = fc.constantFrom(
      'a',
      ':',
      ' ',
      '\n',
      '- ',
      '"',
      "'",
      '[',
      ']',
      '{',
      '}',
      ',',
      '#',
      '|',
      '>',
      '\\',
      '&',
      '0',
      '\t',
      '__proto__',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
        const read = await readFrontMatter(pieces.join(''));
        assert.ok(read.ok || read.problem !== '');
      }),
    );
  });
});

describe('a SKILL.md', () => {
  const name = fc.stringMatching(/^[a-z0-9]([a-z0-9]{0,20})$/);
  const words = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .filter((text) => /^[^\p{C}\p{Z}]/u.test(text) && !/\p{Cc}|\p{Cf}/u.test(text));
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      words,
      fc.boolean(),
      fc.integer(),
      fc.constant(null),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3 }),
    ),
  })).value;

  it('says again what it said, whatever that is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          description: words,
          license: fc.option(words),
          compatibility: fc.option(words),
          allowed_tools: fc.array(words, { maxLength: 3 }),
        }),
        fc.dictionary(
          name.map((key) => `k-${key}`),
          value,
          { maxKeys: 4 },
        ),
        words,
        async (given, metadata, text) => {
          const whole = {
            manifest: { namespace: 'team', name: 'deploy', ...given, metadata },
            body: `${text}\n`,
          };
          const read = await readSkillText(writeSkillText(whole));
          assert.ok(read.ok, JSON.stringify(read));
          assert.deepEqual(JSON.parse(JSON.stringify(read.value)), JSON.parse(JSON.stringify(whole)));
        },
      ),
    );
  });

  it('ends its front matter at the first line of three dashes, and begins its body at the first line with text', async () => {
    const text =
      '\ufeff---\r\nnamespace: team\r\nname: a-b\r\ndescription: d\r\n---\r\n\r\n \t\n  body\n---\nmore\n';
    const read = await readSkillText(text);
    assert.ok(read.ok);
    assert.deepEqual([read.value.body, read.value.manifest.name], ['  body\n---\nmore\n', 'a-b']);
  });

  for (const [text, says] of [
    ['name: x', /^SKILL\.md: must begin with a line of three dashes/],
    ['---\nname: x', /no second line of three dashes/],
    ['---\nname: deploy\ndescription: d\n---\n', /namespace: is required/],
    ['---\nnamespace: _own\nname: deploy\ndescription: d\n---\n', /namespace: .*the service's own/],
    ['---\nnamespace: team\nname: De\ndescription: d\n---\n', /name: must be 1 to 64/],
    ['---\nnamespace: team\nname: a--b\ndescription: d\n---\n', /name: must be/],
    ['---\nnamespace: team\nname: a\n---\n', /description: must be text/],
    ['---\nnamespace: team\nname: a\ndescription: 7\n---\n', /description: must be text/],
    [`---\nnamespace: team\nname: a\ndescription: ${'x'.repeat(1025)}\n---\n`, /1 to 1024/],
    [
      '---\nnamespace: team\nname: a\ndescription: d\nallowed_tools: Read\n---\n',
      /allowed_tools: must be a list/,
    ],
    [
      `---\nnamespace: team\nname: a\ndescription: d\ncompatibility: ${'x'.repeat(501)}\n---\n`,
      /compatibility: must be 1 to 500/,
    ],
    ['---\nnamespace: team\nname: a\ndescription: d\nscope: everyone\n---\n', /scope: must be one of/],
    [
      '---\nnamespace: team\nname: a\ndescription: d\ncomposes_with_reflections: [team]\n---\n',
      /composes_with_reflections: must be a list/,
    ],
    [
      '---\nnamespace: team\nname: a\ndescription: d\nparameters_schema: {type: object, required: [x]}\n---\n',
      /names "x"/,
    ],
    [
      '---\nnamespace: team\nname: a\ndescription: d\nparameters_schema: {type: string}\n---\n',
      /"type" is "object"/,
    ],
    [`---\nnamespace: team\nname: a\ndescription: d\nx: ${'y'.repeat(70_000)}\n---\n`, /at most 65536 bytes/],
    [`---\nnamespace: team\nname: a\ndescription: d\n---\n${'x'.repeat(600_000)}`, /body: must be at most/],
  ] as const)
    it(`is refused: ${text.slice(0, 70).replaceAll('\n', '|')}`, async () => {
      const read = await readSkillText(text);
      assert.ok(!read.ok);
      assert.equal(read.error.code, 'VALIDATION_FAILED');
      assert.match(read.error.message, says);
    });

  it('has the digest that others compute', () => {
    const manifest = {
      namespace: 'team/k',
      name: 'deploy',
      description: 'Wie "man"\n€',
      license: null,
      compatibility: null,
      allowed_tools: [],
    };
    const text =
      '{"namespace":"team/k","name":"deploy","description":"Wie \\"man\\"\\n€","license":null,"compatibility":null,"allowed_tools":[]}Do it.\n';
    const files = ['ff'.repeat(32), '01'.repeat(32)];
    const bytes = Buffer.concat([Buffer.from(text), Buffer.alloc(32, 1), Buffer.alloc(32, 0xff)]);
    assert.equal(skillDigest(manifest, 'Do it.\n', files, systemCrypto), systemCrypto.sha256Hex(bytes));
  });
});
