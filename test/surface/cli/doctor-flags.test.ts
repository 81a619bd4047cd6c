import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';
import { listedTools } from '../../../node/bindings/profile.js';
import { toolRow } from '../../../node/bindings/tool-list.js';
import { profileOf } from '../../../node/config/tool-profile.js';
import type { Examination, Section } from '../../../node/doctor/report.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { HOOK_EVENT_NAMES, UNFIRED_EVENTS } from '../../../protocol/hooks/events.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { commandsIn, run } from './cli-process.js';

const folder = temporaryFolder('doctor-flags');
let homes = 0;
const freshHome = () => {
  homes += 1;
  const home = join(folder, String(homes));
  mkdirSync(home, { mode: 0o700 });
  return home;
};

function section(out: string, name: string): Section | undefined {
  return (JSON.parse(out) as Examination).sections.find((each) => each.name === name);
}

describe('doctor --tokens', () => {
  it('counts the tool list of the profile as tools/list sends it', async () => {
    const doctor = commandsIn(freshHome());
    for (const profile of ['core', 'core,graph', 'full']) {
      const { out } = await doctor('doctor', '--json', '--port', '0', '--tokens', '--profile', profile);
      const facts = new Map(section(out, 'Tools')?.facts);
      const listed = listedTools(OPERATIONS, profileOf(profile));
      const whole = countTokens(JSON.stringify({ tools: listed.map(toolRow) }));
      assert.equal(facts.get('profile'), profile);
      assert.equal(facts.get('tokens of tools/list'), String(whole));
      for (const tool of listed) {
        assert.equal(facts.get(tool.name), String(countTokens(JSON.stringify(toolRow(tool)))), tool.name);
      }
    }
  });

  it('takes the profile of the settings, and says nothing of tools unless asked', async () => {
    const home = freshHome();
    const asked = await run(home, ['doctor', '--json', '--port', '0', '--tokens'], {
      env: { SVC_PROFILE: 'full' },
    });
    assert.deepEqual(section(asked.out, 'Tools')?.facts[0], ['profile', 'full']);
    const plain = await run(home, ['doctor', '--json', '--port', '0']);
    assert.equal(section(plain.out, 'Tools'), undefined);
    assert.equal(section(plain.out, 'Hooks'), undefined);
  });

  it('prints the table alone with --raw-table, as text and as JSON', async () => {
    const doctor = commandsIn(freshHome());
    const text = await doctor('doctor', '--tokens', '--raw-table');
    assert.equal(text.code, 0, text.err);
    const [head, ...rows] = text.out.trimEnd().split('\n');
    assert.equal(head, 'tool\tfamily\ttokens');
    assert.equal(rows.length, 7);
    for (const line of rows) assert.match(line, /^memory_\w+\t\w+\t[1-9]\d*$/);
    const json = await doctor('doctor', '--tokens', '--raw-table', '--profile', 'full', '--json');
    const table = JSON.parse(json.out) as { profile: string; count: number; tools: { tokens: number }[] };
    assert.equal(table.profile, 'full');
    assert.equal(table.tools.length, table.count);
    assert.equal(table.count, OPERATIONS.filter(({ mcp }) => mcp !== undefined).length);
  });

  it('refuses flags that contradict each other', async () => {
    const doctor = commandsIn(freshHome());
    for (const args of [
      ['--raw-table'],
      ['--profile', 'core'],
      ['--tokens', '--profile', 'huge'],
      ['--tokens', '--remote', 'http://127.0.0.1:1'],
      ['--hooks', '--remote', 'http://127.0.0.1:1'],
    ]) {
      const { code, out, err } = await doctor('doctor', ...args);
      assert.deepEqual([code, out], [2, ''], `${args.join(' ')}: ${err}`);
    }
  });
});

describe('doctor --hooks', () => {
  const hook = (fields: Record<string, string | number | boolean | null> = {}) =>
    [
      '[[hook]]',
      ...Object.entries({
        event: 'pre_store',
        command: process.execPath,
        priority: 10,
        timeout_ms: 1000,
        enabled: true,
        namespace: '*',
        ...fields,
      }).flatMap(([key, value]) => (value === null ? [] : [`${key} = ${JSON.stringify(value)}`])),
      '',
    ].join('\n');
  const examine = async (home: string, toml: string | null, mode = 0o600) => {
    const path = join(home, 'hooks.toml');
    if (toml !== null) writeFileSync(path, toml);
    if (toml !== null) chmodSync(path, mode);
    const { out } = await run(home, ['doctor', '--json', '--port', '0', '--hooks']);
    const hooks = section(out, 'Hooks')!;
    return { hooks, codes: hooks.findings.map(({ code }) => code) };
  };

  it('accepts the 27 events of the reference and one more, and says which ones nothing fires', async () => {
    assert.equal(HOOK_EVENT_NAMES.length, 28);
    const { hooks, codes } = await examine(
      freshHome(),
      HOOK_EVENT_NAMES.map((event) => hook({ event })).join(''),
    );
    assert.equal(hooks.severity, 'WARN');
    assert.deepEqual(
      codes,
      Object.keys(UNFIRED_EVENTS).map(() => 'HOOK_NEVER_FIRES'),
    );
    assert.equal(new Map(hooks.facts).get('switched on'), '28');
  });

  it('says that nothing is configured', async () => {
    const { hooks, codes } = await examine(freshHome(), null);
    assert.equal(hooks.severity, 'N/A');
    assert.deepEqual(codes, []);
  });

  it('finds nothing wrong with a hook that can run, switched on or off', async () => {
    const home = freshHome();
    for (const enabled of [true, false]) {
      const { hooks, codes } = await examine(home, hook({ enabled }));
      assert.deepEqual([hooks.severity, codes], ['INFO', []]);
    }
  });

  it('names the field that is wrong', async () => {
    const home = freshHome();
    const cases: readonly (readonly [Parameters<typeof hook>[0], string])[] = [
      [{ event: 'pre_breakfast' }, 'hook[0].event is not a known event'],
      [{ event: null }, 'hook[0].event is missing'],
      [{ command: ' ' }, 'hook[0].command must be text and not empty'],
      [{ priority: 1.5 }, 'hook[0].priority must be a whole number'],
      [{ timeout_ms: 30_001 }, 'hook[0].timeout_ms must be 0 to 30000'],
      [{ enabled: 'yes' }, 'hook[0].enabled must be true or false'],
      [{ namespace: null }, 'hook[0].namespace is missing'],
      [{ fail_mode: 'ajar' }, 'hook[0].fail_mode must be open or closed'],
      [{ mode: 'fork' }, 'hook[0].mode must be exec or daemon'],
      [{ args: '-v' }, 'hook[0].args is not a field of a hook'],
    ];
    for (const [fields, message] of cases) {
      const { hooks } = await examine(home, hook(fields));
      const invalid = hooks.findings.filter(({ code }) => code === 'HOOKS_INVALID');
      assert.deepEqual(
        invalid.map((finding) => finding.message),
        [message],
      );
      assert.equal(hooks.severity, 'CRIT');
    }
    assert.deepEqual((await examine(home, '[[hook]\n')).codes, ['HOOKS_INVALID']);
    assert.deepEqual((await examine(home, 'hook = 3\n')).codes, ['HOOKS_INVALID']);
    assert.deepEqual((await examine(home, 'hook = [1]\n')).hooks.severity, 'CRIT');
  });

  it('finds commands that cannot run, and a file that others may write', async () => {
    const home = freshHome();
    const script = join(home, 'guard.sh');
    writeFileSync(script, '#!/bin/sh\n', { mode: 0o600 });
    const bad = await examine(home, hook({ command: script }) + hook({ command: 'no-such-program' }));
    assert.deepEqual(bad.codes, ['HOOK_COMMAND', 'HOOK_COMMAND']);
    assert.match(bad.hooks.findings[0]!.message, /is not executable/);
    assert.match(bad.hooks.findings[1]!.message, /does not exist/);
    const named = await examine(home, hook({ command: 'sh' }));
    assert.deepEqual(named.codes, []);
    const open = await examine(home, hook({ enabled: false }), 0o666);
    assert.deepEqual(open.codes, ['HOOKS_FILE_WRITABLE']);
  });
});
