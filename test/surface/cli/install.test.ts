import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'smol-toml';
import { editBlock, HASH_MARKS, MARKDOWN_MARKS } from '../../../cli/install/edit-block.js';
import { editJson, memberOf } from '../../../cli/install/edit-json.js';
import { lineChanges } from '../../../cli/install/line-changes.js';
import { clientAgentId } from '../../../node/identity/local-caller.js';
import { MAIN, temporaryFolder } from '../../support/daemon-process.js';
import fc from '../../support/properties.js';
import { onPostgres, storeUrlOf } from '../../support/test-store.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

/** The file of each client below its user's folder. */
const FILES: Readonly<Record<string, string>> = {
  'claude-code': '.claude.json',
  'claude-desktop': '.config/Claude/claude_desktop_config.json',
  cursor: '.cursor/mcp.json',
  vscode: '.config/Code/User/mcp.json',
  windsurf: '.codeium/windsurf/mcp_config.json',
  zed: '.config/zed/settings.json',
  codex: '.codex/config.toml',
  'gemini-cli': '.gemini/settings.json',
  opencode: '.config/opencode/opencode.json',
  cline: '.cline/data/settings/cline_mcp_settings.json',
  continue: '.continue/mcpServers/mnemesh.yaml',
  'grok-cli': '.grok/config.toml',
  openclaw: '.openclaw/openclaw.json',
};

/** The files of instructions for all projects, and in one project. */
const INSTRUCTIONS: Readonly<Record<string, readonly [user: string | null, project: string | null]>> = {
  'claude-code': ['.claude/CLAUDE.md', 'CLAUDE.md'],
  'claude-desktop': [null, null],
  cursor: [null, '.cursor/rules/mnemesh.mdc'],
  vscode: [
    '.config/Code/User/prompts/mnemesh.instructions.md',
    '.github/instructions/mnemesh.instructions.md',
  ],
  windsurf: ['.codeium/windsurf/memories/global_rules.md', '.windsurf/rules/mnemesh.md'],
  zed: [null, 'AGENTS.md'],
  codex: ['.codex/AGENTS.md', 'AGENTS.md'],
  'gemini-cli': ['.gemini/GEMINI.md', 'GEMINI.md'],
  opencode: ['.config/opencode/AGENTS.md', 'AGENTS.md'],
  cline: ['.cline/rules/mnemesh.md', '.clinerules/mnemesh.md'],
  continue: ['.continue/rules/mnemesh.md', '.continue/rules/mnemesh.md'],
  'grok-cli': [null, 'AGENTS.md'],
  openclaw: [null, null],
};

const agentOf = (client: string) => clientAgentId(client, hostname());

/** The entry of this program in a client's JSON. */
const entryIn = (text: string): Row => {
  const { mcpServers, mcp, servers, context_servers } = JSON.parse(text) as Record<string, Row | undefined>;
  const found = mcpServers ?? servers ?? context_servers ?? (mcp!['servers'] as Row | undefined) ?? mcp!;
  return found['mnemesh'] as Row;
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
    const [first, ...rest] = args;
    const words = first === '--uninstalled' ? ['uninstall', ...rest] : ['install', ...args];
    const { code, out, err } = await run(home, [...words, '--json'], { env: { HOME: home } });
    return { code, ...(JSON.parse(out === '' ? err : out) as Row) } as Row;
  };
  return { home, file, write, install, json, read: (client: string) => readFileSync(file(client), 'utf8') };
}

const backupsOf = (file: string) => readdirSync(dirname(file)).filter((name) => name.includes('.bak.'));

describe('install', { timeout: 240_000 }, () => {
  for (const client of Object.keys(FILES)) {
    it(`gets into ${client} and out of it again`, async () => {
      const { file, json, read, home } = user();
      const shown = await json(client, '--dry-run');
      assert.deepEqual(
        [shown['code'], shown['config'], shown['changed'], shown['applied']],
        [0, file(client), true, false],
      );
      assert.equal(existsSync(file(client)), false);

      const done = await json(client);
      assert.equal(done['applied'], true);
      assert.equal(done['agent_id'], agentOf(client));
      const text = read(client);
      // What the variables of this process say is kept.
      const server = onPostgres ? ['--store-url', storeUrlOf(join(home, 'mnemesh.db'))] : [];
      const [command, ...args] = [process.execPath, MAIN, 'mcp', ...server];
      const env = { SVC_AGENT_ID: agentOf(client), SVC_HOME: home };
      if (client === 'opencode') {
        const entry = { type: 'local', enabled: true, command: [command, ...args], environment: env };
        assert.deepEqual(entryIn(text), entry);
      } else if (/\.json$/.test(file(client))) {
        const type = client === 'vscode' ? { type: 'stdio' } : {};
        assert.deepEqual(entryIn(text), { ...type, command, args, env });
      } else if (/\.toml$/.test(file(client))) {
        const { mcp_servers } = JSON.parse(JSON.stringify(parse(text))) as { mcp_servers: Row };
        assert.deepEqual(mcp_servers, { mnemesh: { command, args, env } });
      } else {
        for (const line of ['mcpServers:', '  - name: mnemesh', `    command: ${JSON.stringify(command)}`])
          assert.ok(text.split('\n').includes(line), line);
      }
      assert.equal((await json(client))['changed'], false);
      assert.deepEqual(backupsOf(file(client)), []);
      // It stays the agent that it was named.
      assert.equal((await json(client, '--agent-id', 'ai:mine'))['changed'], true);
      assert.equal((await json(client))['agent_id'], 'ai:mine');
      assert.ok(read(client).includes('ai:mine'));

      const named = read(client);
      const gone = await json('--uninstalled', client);
      assert.equal(gone['applied'], true);
      assert.equal(readFileSync(String(gone['backup']), 'utf8'), named);
      if (client === 'continue') assert.equal(existsSync(file(client)), false);
      else assert.ok(!read(client).includes('mnemesh'));
      assert.equal((await json('--uninstalled', client))['changed'], false);
    });

    it(`puts instructions where ${client} reads them, and takes them out again`, async () => {
      const { home, json, install } = user();
      const project = join(home, 'work');
      mkdirSync(project);
      const [own, inProject] = INSTRUCTIONS[client]!;
      for (const [path, flags] of [
        [own === null ? null : join(home, own), []],
        [inProject === null ? null : join(project, inProject), ['--project', project]],
      ] as const) {
        if (path !== null && !path.includes('mnemesh.')) {
          mkdirSync(dirname(path), { recursive: true });
          writeFileSync(path, '# Mine\n');
        }
        const { instructions } = (await json(client, ...flags)) as { instructions: Row | null };
        assert.equal(instructions?.['config'] ?? null, path);
        if (path === null) continue;
        const text = readFileSync(path, 'utf8');
        assert.match(
          text,
          /<!-- >>> mnemesh [^\n]+ >>> -->\n## Memory[\s\S]+memory_recall[\s\S]+<!-- <<< mnemesh <<< -->\n$/,
        );
        assert.match(text, path.includes('mnemesh.') ? /^(---\n|<!--)/ : /^# Mine\n\n<!--/);
        assert.equal(((await json(client, ...flags))['instructions'] as Row)['changed'], false);
        await json('--uninstalled', client, '--no-instructions', ...flags);
        assert.equal(readFileSync(path, 'utf8'), text);
        await json('--uninstalled', client, ...flags);
        if (path.includes('mnemesh.')) assert.equal(existsSync(path), false);
        else assert.equal(readFileSync(path, 'utf8'), '# Mine\n');
      }
      const { out } = await install(client);
      const hint = own === null && inProject !== null;
      assert.equal(out.includes('has no instructions for all projects: --project <folder>'), hint, out);
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
        mnemesh: {
          command: '/opt/mnemesh',
          args: ['mcp', '--db', '/data/x.db'],
          env: { SVC_AGENT_ID: agentOf('cursor'), SVC_HOME: home },
        },
      },
    });
  });

  it('prints no value of another program, and none that the user has added', async () => {
    const { write, read, install } = user();
    const one =
      '{"mcpServers":{"hub":{"command":"npx","args":["--key","sesame-1"],"env":{"KEY":"sesame-2"}}}}';
    write('cursor', one);
    const shown = await install('cursor', '--dry-run');
    const done = await install('cursor');
    assert.ok(done.out.includes('{"mcpServers":{"hub":{"command":"npx","args":["…","…"],"env":{"KEY":"…"}}'));
    assert.ok(done.out.includes(`"SVC_AGENT_ID": "${agentOf('cursor')}"`));
    write('windsurf', read('cursor').replace('"SVC_AGENT_ID"', '"SVC_API_KEY": "sesame-3", "SVC_AGENT_ID"'));
    const again = await install('windsurf', '--agent-id', 'ai:me', '--binary', '/opt/mnemesh');
    const gone = await install('cursor', '--uninstall');
    for (const { code, out, err } of [shown, done, again, gone]) {
      assert.equal(code, 0, err);
      assert.doesNotMatch(out, /sesame/);
    }
    assert.equal(read('cursor'), one);
    assert.match(read('windsurf'), /sesame-1.*sesame-2[\s\S]*sesame-3/);
  });

  it('says what it could not write, and changes the file once where two do it at the same time', async () => {
    const { home, write, read, install, file } = user();
    writeFileSync(join(home, 'plain'), '');
    const unread = await install('cursor', '--config', join(home, 'plain', 'mcp.json'));
    assert.match(unread.err, /mcp\.json cannot be read \(ENOTDIR\); nothing was changed/);
    if (existsSync('/proc/self')) {
      const unwritten = await install('cursor', '--config', '/proc/mcp.json', '--json');
      assert.equal((JSON.parse(unwritten.err) as Row)['code'], 'UNAVAILABLE');
      assert.match(unwritten.err, /mcp\.json could not be written: .*; it was not changed/);
    }
    write('windsurf', '{}');
    const named = ['ai:a', 'ai:b', 'ai:c', 'ai:d'].map((id) =>
      install('windsurf', '--no-instructions', '--agent-id', id),
    );
    const many = await Promise.all(named);
    const done = many.filter(({ code }) => code === 0);
    assert.ok(done.length > 0);
    for (const { code, err } of many)
      if (code !== 0) assert.match(err, /was (changed|made) by another process in the meantime/);
    assert.equal(backupsOf(file('windsurf')).length, done.length);
    assert.match(String((entryIn(read('windsurf'))['env'] as Row)['SVC_AGENT_ID']), /^ai:[a-d]$/);
  });

  it('takes a file with a byte order mark, and refuses one whose bytes it could not keep', async () => {
    const { write, read, install, file } = user();
    write('cursor', '\uFEFF{\r\n  "mcpServers": {}\r\n}\r\n');
    assert.equal((await install('cursor')).code, 0);
    assert.match(read('cursor'), /^\uFEFF\{\r\n {2}"mcpServers": \{\n {4}"mnemesh"/);
    const bytes = Buffer.from('{ "name": "caf\u00e9" }', 'latin1');
    write('windsurf', '');
    writeFileSync(file('windsurf'), bytes);
    const { code, err } = await install('windsurf');
    assert.equal(code, 78, err);
    assert.match(err, /is not UTF-8; nothing was changed/);
    assert.deepEqual(readFileSync(file('windsurf')), bytes);
    assert.deepEqual(backupsOf(file('windsurf')), []);
    rmSync(file('windsurf'));
    symlinkSync(join(dirname(file('windsurf')), 'gone.json'), file('windsurf'));
    assert.match(
      (await install('windsurf')).err,
      /is a link to a file that is not there; nothing was changed/,
    );
    assert.ok(lstatSync(file('windsurf')).isSymbolicLink());
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
      ['openclaw', '{ // mine\n mcp: {} }', /is neither JSON nor JSON with comments/],
      ['cursor', '[]', /is no JSON object/],
      ['windsurf', '{"mcpServers": 7}', /has a "mcpServers" that is no object/],
      ['gemini-cli', '{"mcpServers": {}, "mcpServers": {"a": {}}, "b": {}', /is neither JSON nor/],
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

  it('does not touch a text whose managed block has lost one of its marks', async () => {
    const { home, install } = user();
    const file = join(home, '.claude/CLAUDE.md');
    await install('claude-code');
    const [begin] = readFileSync(file, 'utf8').split('\n');
    for (const text of [`${begin}\nold\n\nmine\n`, `${begin}\nmine\n${readFileSync(file, 'utf8')}`]) {
      writeFileSync(file, text);
      for (const args of [['claude-code'], ['claude-code', '--uninstall']]) {
        const { code, err } = await install(...args);
        assert.equal(code, 78, err);
        assert.match(
          err,
          /CLAUDE\.md has "<!-- >>> mnemesh .+ without "<!-- <<< mnemesh <<< -->"; nothing was changed/,
        );
      }
      assert.equal(readFileSync(file, 'utf8'), text);
    }
    assert.ok(readFileSync(join(home, '.claude.json'), 'utf8').includes('mnemesh'));
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
    assert.match(out, /\ncodex: would change \S+AGENTS\.md\n {2}\+ <!-- >>> mnemesh/);
    assert.match(out, /nothing was changed yet: without --dry-run, it is\n/);
    for (const [args, problem] of [
      [['emacs'], /"emacs" is not one of claude-code, claude-desktop, cursor/],
      [['cursor', '--project', '/no/such/folder'], /--project: there is no folder \/no\/such\/folder/],
      [['cursor', '--agent-id', 'a b'], /agent_id must be 1 to 128 characters/],
      [[], /missing required argument: <target> \(claude-code, claude-desktop, .*, openclaw\)\n/],
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

  it('keep the comments and the commas of settings that are JSON with comments', () => {
    for (const text of [
      '// Zed\n{\n  "a": "// no comment, ]", // x\n  /* c, */\n  "context_servers": {\n    // mine\n    "o": { "command": "x", },\n  },\n}\n',
      '{\n  "context_servers": {\n    "o": {} // last\n  }\n}\n',
      '{\n  "context_servers": {\n    // none yet\n  },\n}\n',
      '{\n  "a": [1, 2,], // b\n}\n',
    ]) {
      const path = ['context_servers', 'mnemesh'];
      const put = editJson(text, path, { command: 'c', args: ['//'] });
      assert.deepEqual(memberOf(put, path), { command: 'c', args: ['//'] });
      const gone = editJson(put, path, undefined);
      assert.equal(memberOf(gone, path), undefined);
      for (const comment of text.match(/\/\/ \w+|\/\*.*?\*\//g)!)
        for (const each of [put, gone]) assert.ok(each.includes(comment), `${comment}: ${each}`);
      assert.ok(gone.includes('"command": "x", }') || !text.includes('"x"'), gone);
    }
    const around = '{\n  "mnemesh": {}, // own\n  // of b\n  "b": 1\n}\n';
    assert.equal(editJson(around, ['mnemesh'], undefined), '{ // own\n  // of b\n  "b": 1\n}\n');
  });

  it('put one block, and take it out without a trace', () => {
    for (const text of ['', 'a\n', 'a\n\nb\n']) {
      for (const marks of [HASH_MARKS, MARKDOWN_MARKS]) {
        const put = editBlock(text, ['one'], marks);
        assert.equal(editBlock(editBlock(put, ['two'], marks), ['one'], marks), put);
        assert.equal(editBlock(put, null, marks), text);
      }
    }
  });

  it('are shown by the lines that differ', () => {
    assert.deepEqual(lineChanges('a\nb\nc\n', 'a\nx\ny\nc\n'), ['- b', '+ x', '+ y']);
    assert.deepEqual(lineChanges('', 'a\n'), ['+ a']);
    assert.deepEqual(lineChanges('a\na\n', 'a\n'), ['- a']);
    assert.deepEqual(lineChanges('a\n', 'a\n'), []);
  });
});
