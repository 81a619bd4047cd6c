import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Action } from '../../../protocol/rules/action.js';
import { matchesGlob, plainPath } from '../../../protocol/rules/glob.js';
import type { Rule } from '../../../protocol/rules/rule-kind.js';
import { evaluateRules, TRUST_ALL } from '../../../protocol/rules/rules.js';
import { aRule } from '../../support/rules.js';

const bash = (command: string): Action => ({ kind: 'bash', command, cwd: null });
const write = (path: string): Action => ({ kind: 'filesystem_write', path, byte_estimate: null });
const request = (host: string): Action => ({ kind: 'network_request', host, scheme: 'https' });
const spawn = (binary: string, args: string[], disk_free_gib: number | null = 100): Action => ({
  ...{ kind: 'process_spawn', binary, args, disk_free_gib },
});
const custom = (custom_kind: string, payload: Record<string, unknown> = {}): Action => ({
  ...{ kind: 'custom', custom_kind, payload },
});
const reading = (
  surface: string | null,
  namespace: string | null = null,
  query: string | null = null,
): Action => ({ kind: 'read_action', surface, namespace, query });

/** Kind of the rule, its matcher, an action, and whether the rule is about it. */
type Line = readonly [kind: string, matcher: Record<string, unknown>, action: Action, matches: boolean];

const SPAWN = { binary: 'cargo', args_contain: 'build', disk_free_min_gib: 10 };
const WRITE = { kind: 'memory_write', namespace_glob: 'team/*', tier: 'long', title_contains: 'key' };
const LONG = { namespace: 'team/a', tier: 'long', title: 'the key' };

const LINES: readonly Line[] = [
  ['bash', { command_substring: 'rm -rf' }, bash('sudo rm -rf /x'), true],
  ['bash', { command_substring: 'rm -rf' }, bash('rm -r /x'), false],
  ['bash', { command_substring: 'rm' }, write('/rm'), false],
  ['bash', { command_regex: 'a.b' }, bash('xa.by'), true],
  ['bash', { command_regex: 'a.b' }, bash('acb'), false],
  ['filesystem_write', { glob: '/tmp/**' }, write('/tmp/a/b'), true],
  ['filesystem_write', { glob: '/tmp/**' }, write('/home/../tmp//a'), true],
  ['filesystem_write', { glob: '/tmp/**' }, write('/tmpfile'), false],
  ['filesystem_write', { glob: '/tmp/**' }, write('/tmp/../etc/x'), false],
  ['filesystem_write', { glob: '/tmp/*' }, write('/tmp/a'), true],
  ['filesystem_write', { glob: '/tmp/*' }, write('/tmp/a/b'), false],
  ['network_request', { host: 'example.com' }, request('EXAMPLE.com.'), true],
  ['network_request', { host: 'example.com' }, request('example.com:8443'), true],
  ['network_request', { host: 'example.com' }, request('a.example.com'), false],
  ['network_request', { host: '*.example.com' }, request('a.b.example.com'), true],
  ['network_request', { host: '*.example.com' }, request('example.com'), false],
  ['network_request', { host: '*.example.com' }, request('notexample.com'), false],
  ['network_request', { host: '::1' }, request('::1'), true],
  ['process_spawn', { binary: 'cargo' }, spawn('cargo', []), true],
  ['process_spawn', { binary: 'cargo' }, spawn('/usr/bin/cargo', []), true],
  ['process_spawn', { binary: 'cargo' }, spawn('cargo2', []), false],
  ['process_spawn', { binary: '/opt/cargo' }, spawn('cargo', []), false],
  ['process_spawn', SPAWN, spawn('cargo', ['+nightly', 'build'], 9.9), true],
  ['process_spawn', SPAWN, spawn('cargo', ['build'], 10), false],
  ['process_spawn', SPAWN, spawn('cargo', ['check'], 1), false],
  // How much is free is not known: the rule counts.
  ['process_spawn', SPAWN, spawn('cargo', ['build'], null), true],
  ['custom', { kind: 'deploy' }, custom('deploy'), true],
  ['custom', { kind: 'deploy' }, custom('deploys'), false],
  ['custom', WRITE, custom('memory_write', LONG), true],
  ['custom', WRITE, custom('memory_write', { ...LONG, namespace: 'team/a/b' }), false],
  ['custom', WRITE, custom('memory_write', { ...LONG, tier: 'mid' }), false],
  ['custom', WRITE, custom('memory_write', { ...LONG, title: 'Key' }), false],
  ['custom', WRITE, custom('memory_write', { namespace: 'team/a' }), false],
  ['read_action', { all: true }, reading(null), true],
  ['read_action', { surface: 'recall' }, reading('recall'), true],
  ['read_action', { surface: 'recall' }, reading('list'), false],
  ['read_action', { surface: 'recall' }, reading(null), true],
  ['read_action', { namespace: 'hr' }, reading('list', 'hr'), true],
  ['read_action', { namespace: 'hr/**' }, reading('list', 'hr/pay/2026'), true],
  ['read_action', { namespace: 'hr', query_substring: 'pay' }, reading('x', 'hr', 'pay day'), true],
  ['read_action', { query_substring: 'pay' }, reading('x', 'hr', 'day'), false],
];

/** Rules of which this release cannot say what they are about. */
const UNREADABLE: readonly Partial<Rule>[] = [
  { matcher: {} },
  { matcher: { command_substring: 'zzz', user: 'root' } },
  { matcher: { command_substring: '' } },
  { matcher: { command_substring: 7 } },
  { matcher: { command_substring: 'a', command_regex: 'b' } },
  { matcher: { command_substring: 'x'.repeat(1025) } },
  { matcher: { constructor: 'x' } },
  { rule_kind: 'time_travel', matcher: { year: 1955 } },
  { severity: 'escalate', matcher: { command_substring: 'zzz' } },
];

describe('rules', () => {
  for (const [kind, matcher, action, matches] of LINES) {
    it(`${kind} ${JSON.stringify(matcher)} ${matches ? 'is' : 'is not'} about ${JSON.stringify(action)}`, () => {
      for (const [severity, decision] of [
        ['refuse', 'refuse'],
        ['warn', 'warn'],
        ['log', 'allow'],
      ] as const) {
        const rule = aRule('R1', { rule_kind: kind, matcher, severity });
        const said = evaluateRules([rule], action, TRUST_ALL);
        const named = matches && severity !== 'log';
        assert.deepEqual(said, {
          decision: matches ? decision : 'allow',
          rule_id: named ? 'R1' : null,
          reason: named ? 'ask first' : null,
          logged: matches && severity === 'log' ? ['R1'] : [],
        });
        const disabled = evaluateRules([{ ...rule, enabled: false }], action, TRUST_ALL);
        assert.equal(disabled.decision, 'allow');
        assert.deepEqual(disabled.logged, []);
      }
    });
  }

  it('name the first refusal by id, whatever the warnings and the order', () => {
    const rules = [
      aRule('R3'),
      aRule('R1', { severity: 'warn' }),
      aRule('R2'),
      aRule('R0', { severity: 'log' }),
    ];
    for (const order of [rules, rules.toReversed()]) {
      const said = evaluateRules(order, bash('git push --force'), TRUST_ALL);
      assert.deepEqual([said.decision, said.rule_id, said.logged], ['refuse', 'R2', ['R0']]);
    }
    const warned = evaluateRules([rules[1]!, rules[3]!], bash('git push --force'), TRUST_ALL);
    assert.deepEqual([warned.decision, warned.rule_id], ['warn', 'R1']);
  });

  it('refuse when they cannot be read, and name the rule', () => {
    for (const unreadable of UNREADABLE) {
      const rule = aRule('R9', unreadable);
      const said = evaluateRules([rule], bash('ls'), TRUST_ALL);
      assert.deepEqual([said.decision, said.rule_id], ['refuse', 'R9'], JSON.stringify(unreadable));
      assert.match(said.reason!, /^the rule cannot be evaluated: /);
      const disabled = evaluateRules([{ ...rule, enabled: false }], bash('ls'), TRUST_ALL);
      assert.equal(disabled.decision, 'allow', 'a disabled rule has no effect');
    }
  });

  it('say nothing about other actions when they cannot be read', () => {
    const rule = aRule('R9', { matcher: { user: 'root' } });
    assert.equal(evaluateRules([rule], write('/x'), TRUST_ALL).decision, 'allow');
    const other = aRule('R9', { rule_kind: 'custom', matcher: { kind: 'deploy', user: 'root' } });
    assert.equal(evaluateRules([other], custom('memory_write'), TRUST_ALL).decision, 'allow');
    assert.equal(evaluateRules([other], custom('deploy'), TRUST_ALL).decision, 'refuse');
  });

  it('let actions pass that they cannot judge, on a node that fails open', () => {
    const open = { ...TRUST_ALL, failOpen: true };
    for (const unreadable of UNREADABLE) {
      assert.equal(evaluateRules([aRule('R9', unreadable)], bash('ls'), open).decision, 'allow');
    }
    const low = aRule('R4', { rule_kind: 'process_spawn', matcher: SPAWN });
    assert.equal(evaluateRules([low], spawn('cargo', ['build'], null), open).decision, 'allow');
    assert.equal(evaluateRules([low], spawn('cargo', ['build'], 1), open).decision, 'refuse');
    assert.equal(evaluateRules([aRule('R1')], bash('push --force'), open).decision, 'refuse');
  });

  it('warn of nothing when a warning cannot be read', () => {
    for (const severity of ['warn', 'log']) {
      const said = evaluateRules([aRule('R9', { severity, matcher: { x: 1 } })], bash('ls'), TRUST_ALL);
      assert.deepEqual([said.decision, said.logged], ['allow', []]);
    }
  });

  it('of a namespace are about it and those below it', () => {
    const rule = aRule('R1', {
      rule_kind: 'custom',
      matcher: { kind: 'memory_write' },
      for_namespace: 'team',
    });
    for (const [namespace, decision] of [
      ['team', 'refuse'],
      ['team/a', 'refuse'],
      ['teams', 'allow'],
      [undefined, 'refuse'],
    ] as const) {
      const said = evaluateRules([rule], custom('memory_write', { namespace }), TRUST_ALL);
      assert.equal(said.decision, decision, namespace);
    }
  });

  it('do not count without the trust of the node', () => {
    const trust = { ...TRUST_ALL, isTrusted: ({ rule_id }: Pick<Rule, 'rule_id'>) => rule_id === 'R2' };
    const rules = [aRule('R1'), aRule('R2', { severity: 'warn' }), aRule('R3', { matcher: {} })];
    const said = evaluateRules(rules, bash('push --force'), trust);
    assert.deepEqual([said.decision, said.rule_id], ['warn', 'R2']);
  });
});

describe('patterns', () => {
  it('match as a plain definition says, for all short texts', () => {
    const texts = ['', 'a', 'b', '/', 'aa', 'ab', 'a/', '/a', 'a/b', 'a/a', 'ab/a', 'a/b/a', '//'];
    const patterns = ['', 'a', '*', '**', 'a*', '*a', 'a/*', '*/a', '**/a', 'a**a', '*/*', 'a*b*', '**a**'];
    for (const pattern of patterns) {
      for (const text of texts)
        assert.equal(matchesGlob(pattern, text), plainly(pattern, text), `${pattern} ${text}`);
    }
  });

  it('take time in proportion to the lengths, however many stars they have', () => {
    const started = process.hrtime.bigint();
    assert.equal(matchesGlob(`${'**a'.repeat(300)}b`, 'a'.repeat(4096)), false);
    assert.equal(matchesGlob(`${'*a'.repeat(500)}b`, 'a'.repeat(4096)), false);
    const ms = Number(process.hrtime.bigint() - started) / 1e6;
    assert.ok(ms < 2000, `${ms} ms`);
  });

  it('see paths without detours', () => {
    for (const [path, plain] of [
      ['/a/./b//c/', '/a/b/c'],
      ['/../../etc', '/etc'],
      ['a/../../b', '../b'],
      ['', ''],
      ['/', '/'],
    ] as const) {
      assert.equal(plainPath(path), plain);
    }
  });
});

/** What a pattern means, without regard to time. */
function plainly(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern.startsWith('*')) {
    const any = pattern.startsWith('**');
    const rest = pattern.slice(any ? 2 : 1);
    for (let taken = 0; taken <= text.length; taken += 1) {
      if (plainly(rest, text.slice(taken))) return true;
      if (!any && text[taken] === '/') return false;
    }
    return false;
  }
  return text !== '' && text[0] === pattern[0] && plainly(pattern.slice(1), text.slice(1));
}
