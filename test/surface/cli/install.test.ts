import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'smol-toml';
import { editBlock } from '../../../cli/install/edit-block.js';
import { editJson } from '../../../cli/install/edit-json.js';
import { lineChanges } from '../../../cli/install/line-changes.js';
import { MAIN, temporaryFolder } from '../../support/daemon-process.js';
import fc from '../../support/properties.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

/** The file of each client below its user's folder. */
const FILES: Readonly<Record<string, string>> = {
  'claude-code': '.claude.json',
  openclaw: '.openclaw/openclaw.json',
  cursor: '.cursor/mcp.json',
  cline: '.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
  continue: '.continue/mcpServers/mnemesh.yaml',
  windsurf: '.codeium/windsurf/mcp_config.json',
  'claude-desktop': '.config/Claude/claude_desktop_config.json',
  codex: '.codex/config.toml',
  'grok-cli': '.grok/config.toml',
  'gemini-cli': '.gemini/settings.json',
};

function user() {
  const home = temporaryFolder('install');
  const file = (client: string) => join(home, FILES[client]!);
  const write = (client: string, text: string) => {
    mkdirSync(dirname(file(client)), { recursive: true });
    writeFileSync(file(client), text);
  };
  const install = async (...args: string[]) => {
    const { code, out, err } = await run(home, ['install', ...args], { env: { HOME: home } });
    return { code, out, err };
  };
  const json = async (...args: string[]) => {
    const { code, out, err } = await install(...args, '--json');
    return { code, ...(JSON.parse(out === '' ? err : out) as Row) } as Row;
  };
  return { home, file, write, install, json, read: (client: string) => readFileSync(file(client), 'utf8') };
}

const backupsOf = (file: string) => readdirSync(dirname(file)).filter((name) => name.includes('.bak.'));

describe('install', { timeout: 240_000 }, () => {
  for (const client of Object.keys(FILES)) {
    it(`gets into ${client} and out of it again`, async () => {
      const { file, json, read, home } = user();
      const shown = await json(client);
      assert.deepEqual(
        {
          code: shown['code'],
          config: shown['config'],
          changed: shown['changed'],
          applied: shown['applied'],
        },
        { code: 0, config: file(client), changed: true, applied: false },
      );
      assert.equal(existsSync(file(client)), false);

      assert.equal((await json(client, '--apply'))['applied'], true);
      const text = read(client);
      const words = [process.execPath, MAIN, 'mcp'];
      if (/\.json$/.test(file(client))) {
        const at = JSON.parse(text) as { mcpServers?: Row; mcp?: { servers: Row } };
        const entry = (at.mcpServers ?? at.mcp!.servers)['mnemesh'];
        assert.deepEqual(entry, { command: words[0], args: words.slice(1), env: { SVC_HOME: home } });
      } else if (/\.toml$/.test(file(client))) {
        const { mcp_servers } = JSON.parse(JSON.stringify(parse(text))) as { mcp_servers: Row };
        assert.deepEqual(mcp_servers, {
          mnemesh: { command: words[0], args: words.slice(1), env: { SVC_HOME: home } },
        });
      } else {
        for (const line of ['mcpServers:', '  - name: mnemesh', `    command: ${JSON.stringify(words[0])}`])
          assert.ok(text.split('\n').includes(line), line);
      }
      assert.equal((await json(client, '--apply'))['changed'], false);
      assert.deepEqual(backupsOf(file(client)), []);

      const gone = await json(client, '--uninstall', '--apply');
      assert.equal(gone['applied'], true);
      assert.equal(readFileSync(String(gone['backup']), 'utf8'), text);
      if (client === 'continue') assert.equal(existsSync(file(client)), false);
      else assert.ok(!read(client).includes('mnemesh'));
      assert.equal((await json(client, '--uninstall'))['changed'], false);
    });
  }

  it('leaves everything else in a file as it is', async () => {
    const { write, read, install, file } = user();
    const before =
      '{\n\t"numStartups": 12345678901234567890,\n\t"tips": {"a":1, "b": [ ]},\n\t"mcpServers": {\n\t\t"other": { "command": "x" }\n\t},\n\t"last": "\\u00e9 }"\n}\n';
    write('claude-code', before);
    const { out } = await install('claude-code', '--apply');
    assert.match(out, /^claude-code: changed /);
    assert.match(out, /\n {2}\+ \t\t"mnemesh": \{\n/);
    const after = read('claude-code');
    assert.ok(after.includes('"numStartups": 12345678901234567890,\n\t"tips": {"a":1, "b": [ ]},'));
    assert.ok(after.includes('\t\t"other": { "command": "x" },\n\t\t"mnemesh": {\n\t\t\t"command"'));
    assert.equal(
      statSync(join(dirname(file('claude-code')), backupsOf(file('claude-code'))[0]!)).mode & 0o777,
      0o600,
    );
    assert.equal((await install('claude-code', '--uninstall', '--apply')).code, 0);
    assert.equal(read('claude-code'), before);

    const toml = '# mine\nmodel = "o3"\n\n[mcp_servers.other]\ncommand = "x"';
    write('codex', toml);
    await install('codex', '--apply');
    assert.ok(read('codex').startsWith(`${toml}\n\n# >>> mnemesh `));
    await install('codex', '--uninstall', '--apply');
    assert.equal(read('codex'), `${toml}\n`);
  });

  it('takes another program, node and file', async () => {
    const { json, home } = user();
    const other = join(home, 'elsewhere.json');
    const { code } = await json(
      'cursor',
      '--config',
      other,
      '--binary',
      '/opt/mnemesh',
      '--db',
      '/data/x.db',
      '--apply',
    );
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(readFileSync(other, 'utf8')), {
      mcpServers: {
        mnemesh: { command: '/opt/mnemesh', args: ['mcp', '--db', '/data/x.db'], env: { SVC_HOME: home } },
      },
    });
  });

  it('follows a link of the user to the file itself', async () => {
    const { home, file, json, write } = user();
    const real = join(home, 'dotfiles.json');
    write('cursor', '');
    rmSync(file('cursor'));
    writeFileSync(real, '{}');
    symlinkSync(real, file('cursor'));
    assert.equal((await json('cursor', '--apply'))['applied'], true);
    assert.ok(readFileSync(real, 'utf8').includes('mnemesh'));
    assert.ok(existsSync(file('cursor')));
  });

  it('runs commands at the start and at the end of sessions of Claude Code', async () => {
    const { home, json } = user();
    const file = join(home, '.claude/settings.json');
    mkdirSync(dirname(file));
    const mine = { matcher: 'startup', hooks: [{ type: 'command', command: 'date' }] };
    const before = `${JSON.stringify({ model: 'opus', hooks: { SessionStart: [mine] } }, null, 2)}\n`;
    writeFileSync(file, before);
    for (const hook of ['session-start', 'session-end']) {
      assert.equal((await json('claude-code', '--hook', hook, '--apply'))['applied'], true);
      assert.equal((await json('claude-code', '--hook', hook, '--apply'))['changed'], false);
    }
    const { hooks } = JSON.parse(readFileSync(file, 'utf8')) as { hooks: Record<string, { hooks: Row[] }[]> };
    assert.deepEqual(hooks['SessionStart']![0], mine);
    const command = String(hooks['SessionStart']![1]!.hooks[0]!['command']);
    assert.ok(command.endsWith(' boot --quiet --no-header # mnemesh:managed'), command);
    assert.ok(command.startsWith(`${process.execPath} ${MAIN} `), command);
    assert.match(
      String(hooks['SessionEnd']![0]!.hooks[0]!['command']),
      / recover-previous-session --host claude-code --quiet # mnemesh:managed$/,
    );
    for (const hook of ['session-end', 'session-start'])
      assert.equal((await json('claude-code', '--hook', hook, '--uninstall', '--apply'))['applied'], true);
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), JSON.parse(before));
    assert.equal((await json('cursor', '--hook', 'session-start'))['code'], 'INVALID_ARGUMENT');
  });

  it('refuses what it cannot edit safely, and says what to add by hand', async () => {
    const { write, read, install } = user();
    for (const [client, text, problem] of [
      ['openclaw', '{ // mine\n mcp: {} }', /is not plain JSON \(it may have comments\)/],
      ['cursor', '[]', /is no JSON object/],
      ['windsurf', '{"mcpServers": 7}', /has a "mcpServers" that is no object/],
      ['gemini-cli', '{"mcpServers": {}, "mcpServers": {"a": {}}, "b": {}', /is not plain JSON/],
      ['codex', 'model = ', /is not TOML/],
    ] as const) {
      write(client, text);
      const { code, err } = await install(client, '--apply');
      assert.equal(code, 78, err);
      assert.match(err, problem);
      assert.match(err, /nothing was changed, add by hand what starts this program: \{"command":/);
      assert.equal(read(client), text);
    }
  });

  it('keeps an entry of the same name that starts another program, unless it is forced', async () => {
    const { write, read, install, json } = user();
    const foreign = '{"mcpServers":{"mnemesh":{"command":"other","args":[]}}}';
    write('cursor', foreign);
    for (const args of [['--apply'], ['--uninstall', '--apply'], ['--uninstall', '--apply', '--force']]) {
      const { code, err } = await install('cursor', ...args);
      assert.equal(code, 1, err);
      assert.match(err, /has an entry "mnemesh" that starts another program; nothing was changed/);
    }
    assert.equal(read('cursor'), foreign);
    assert.equal((await json('cursor', '--apply', '--force'))['applied'], true);
    assert.ok(read('cursor').includes('"mcp"'));
    write('codex', '[mcp_servers.mnemesh]\ncommand = "x"\n');
    assert.match(
      (await install('codex')).err,
      /a table \[mcp_servers\.mnemesh\] outside of the managed block/,
    );
    write('continue', 'name: mine\n');
    assert.match((await install('continue')).err, /a text without the managed block/);
  });

  it('shows what it would do, and refuses clients and flags that it does not know', async () => {
    const { install } = user();
    const { out } = await install('codex', '--dry-run');
    assert.match(out, /^codex: would change \S+config\.toml\n {2}\+ # >>> mnemesh/);
    assert.match(out, /nothing was changed yet: --apply changes it\n$/);
    for (const [args, problem] of [
      [['emacs'], /"emacs" is not one of claude-code, openclaw, cursor/],
      [[], /missing required argument: <target>/],
      [['codex', '--apply', '--dry-run'], /--apply and --dry-run contradict each other/],
      [['claude-code', '--hook', 'lunch'], /--hook: "lunch" is not one of/],
    ] as const) {
      const { code, err } = await install(...args);
      assert.equal(code, 2);
      assert.match(err, problem);
    }
  });
});

describe('edits of the files of clients', () => {
  const key = fc.constantFrom('a', 'b', 'mcpServers', 'x"y', 'é', '__x');
  const json = fc.dictionary(
    key,
    fc.oneof(
      fc.constantFrom<unknown>(1, null, 'te}x"t,', true, [], [1, { a: ']' }], {}),
      fc.dictionary(key, fc.constantFrom<unknown>(2, '{', {})),
    ),
  );

  it('change one member of any JSON, and can be undone', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(0, 2, '\t'), (drawn, indent) => {
        const text = JSON.stringify(drawn, null, indent);
        const object = JSON.parse(text) as Row;
        const inner = object['mcpServers'];
        if (inner !== undefined && (typeof inner !== 'object' || inner === null || Array.isArray(inner)))
          return;
        const entry = { command: 'x', args: ['{"'] };
        const put = editJson(text, ['mcpServers', 'own'], entry);
        assert.deepEqual(JSON.parse(put), { ...object, mcpServers: { ...(inner as Row), own: entry } });
        assert.equal(editJson(put, ['mcpServers', 'own'], entry).includes('"own"'), true);
        const gone = editJson(put, ['mcpServers', 'own'], undefined);
        assert.deepEqual(JSON.parse(gone), { ...object, mcpServers: { ...(inner as Row) } });
        if (inner !== undefined && Object.keys(inner).length > 0) assert.equal(gone, text);
      }),
      { numRuns: 300 },
    );
  });

  it('put one block, and take it out without a trace', () => {
    for (const text of ['', 'a\n', 'a\n\nb\n']) {
      const put = editBlock(text, ['one']);
      assert.equal(editBlock(editBlock(put, ['two']), ['one']), put);
      assert.equal(editBlock(put, null), text);
    }
  });

  it('are shown by the lines that differ', () => {
    assert.deepEqual(lineChanges('a\nb\nc\n', 'a\nx\ny\nc\n'), ['- b', '+ x', '+ y']);
    assert.deepEqual(lineChanges('', 'a\n'), ['+ a']);
    assert.deepEqual(lineChanges('a\na\n', 'a\n'), ['- a']);
    assert.deepEqual(lineChanges('a\n', 'a\n'), []);
  });
});
