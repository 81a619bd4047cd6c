import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { onPostgres } from '../../support/test-store.js';
import { run, runAlone } from './cli-process.js';

const KEY = 'sk-very-secret-1234567890';
const folder = temporaryFolder('config');

function homeWith(toml: string): { home: string; path: string } {
  const home = mkdtempSync(join(folder, 'home-'));
  const path = join(home, 'config.toml');
  writeFileSync(path, toml, { mode: 0o640 });
  chmodSync(path, 0o640);
  return { home, path };
}

const backups = (home: string) => readdirSync(home).filter((name) => name.includes('.bak.'));

const FLAT = `# The team's node.

# Where most of it goes.
default_namespace = "team" # see the wiki
archive_on_gc = false
api_key = "${KEY}"
unknown_key = [1, 2]

[storage]
# keep
archive_max_days = 4

[limits]
max_page_size = 6
`;

describe('config migrate', () => {
  it('moves legacy fields into their sections and keeps all else, comments included', async () => {
    const { home, path } = homeWith(FLAT);
    const { code, out, err } = await run(home, ['config', 'migrate']);
    assert.deepEqual([code, err], [0, '']);
    assert.match(out, /moved: default_namespace -> storage\.default_namespace\n/);
    assert.equal(
      readFileSync(path, 'utf8'),
      `schema_version = 2
# The team's node.

api_key = "${KEY}"
unknown_key = [1, 2]

[storage]
archive_on_gc = false
# Where most of it goes.
default_namespace = "team" # see the wiki
# keep
archive_max_days = 4

[limits]
max_page_size = 6
`,
    );
    assert.equal(statSync(path).mode & 0o777, 0o640, 'the mode stays');
    const [backup, ...others] = backups(home);
    assert.deepEqual(others, []);
    assert.match(backup!, /^config\.toml\.bak\.\d{8}T\d{9}Z$/);
    assert.equal(readFileSync(join(home, backup!), 'utf8'), FLAT);
    assert.equal(statSync(join(home, backup!)).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(home).length, 2, 'no draft is left');
  });

  it('changes nothing the second time, and makes no second backup', async () => {
    const { home, path } = homeWith(FLAT);
    await run(home, ['config', 'migrate']);
    const [text, before] = [readFileSync(path, 'utf8'), backups(home)];
    const { code, out } = await run(home, ['config', 'migrate', '--json']);
    assert.equal(code, 0);
    assert.equal(JSON.parse(out).changed, false);
    assert.deepEqual([readFileSync(path, 'utf8'), backups(home)], [text, before]);
  });

  it('gives the same settings as before', async () => {
    const flat = `${FLAT.replace('unknown_key = [1, 2]\n', '')}`.replace(
      'archive_on_gc',
      'llm_model = "m"\nollama_url = "http://127.0.0.1:1"\nembed_url = "http://127.0.0.1:2"\nembedding_model = "e"\n' +
        'cross_encoder = true\nmax_memory_mb = 5\nauto_tag_model = "t"\narchive_on_gc',
    );
    const { home } = homeWith(flat);
    const settings = async () => {
      const { out } = await run(home, ['config', 'show', '--json']);
      return (JSON.parse(out).settings as { key: string; value: unknown; source: string }[]).map(
        ({ key, value, source }) => [key, value, source === 'legacy' ? 'file' : source],
      );
    };
    const before = await settings();
    assert.equal((await run(home, ['config', 'migrate'])).code, 0);
    assert.deepEqual(await settings(), before);
  });

  it('with --dry-run exits 1, shows what would move and changes nothing', async () => {
    const { home, path } = homeWith(FLAT);
    const { code, out } = await run(home, ['config', 'migrate', '--dry-run', '--json']);
    assert.equal(code, 1);
    assert.ok(!out.includes(KEY));
    const answer = JSON.parse(out);
    assert.deepEqual([answer.changed, answer.backup, answer.moved.length], [true, null, 2]);
    assert.deepEqual([readFileSync(path, 'utf8'), backups(home)], [FLAT, []]);
  });

  it('leaves out a legacy field whose section says something else', async () => {
    const { home, path } = homeWith('embed_url = "http://a"\n[embeddings]\nurl = "http://b"\n');
    const { out } = await run(home, ['config', 'migrate']);
    assert.match(out, /left out: embed_url, because embeddings\.base_url is set already/);
    assert.equal(readFileSync(path, 'utf8'), 'schema_version = 2\n[embeddings]\nurl = "http://b"\n');
  });

  it('writes the file anew where its lines cannot be edited, and says that comments are gone', async () => {
    for (const toml of [
      '# c\ndefault_namespace = """x"""\nstorage = { archive_on_gc = true }\n',
      '# c\ndefault_namespace = "x"\nstorage.archive_on_gc = true\n',
      '# c\na = """\n[storage]\n"""\ndefault_namespace = "x"\n',
    ]) {
      const { home } = homeWith(toml);
      const { code, out } = await run(home, ['config', 'migrate']);
      assert.equal(code, 0, toml);
      const shown = JSON.parse((await run(home, ['config', 'show', '--json'])).out);
      const found = shown.settings.find(({ key }: { key: string }) => key === 'defaultNamespace');
      assert.deepEqual([found.value, found.source], ['x', 'file'], toml);
      assert.equal(/comments could not be kept/.test(out), !shownText(home).includes('# c'));
    }
    function shownText(home: string) {
      return readFileSync(join(home, 'config.toml'), 'utf8');
    }
  });

  it('ends with the exit codes of the reference, and changes nothing then', async () => {
    const cases: readonly (readonly [toml: string, code: number])[] = [
      [`api_key = "${KEY}`, 3],
      [`default_namespace = "x"\n[llm]\napi_key = "${KEY}"`, 3],
      ['schema_version = 3\ndefault_namespace = "x"', 3],
      ['default_namespace = "x"\nstorage = 5', 3],
    ];
    for (const [toml, expected] of cases) {
      const { home, path } = homeWith(toml);
      const { code, out, err } = await run(home, ['config', 'migrate']);
      assert.deepEqual([code, out], [expected, ''], toml);
      assert.ok(!err.includes(KEY), err);
      assert.deepEqual([readFileSync(path, 'utf8'), backups(home)], [toml, []]);
    }
    const empty = mkdtempSync(join(folder, 'home-'));
    assert.equal((await run(empty, ['config', 'migrate'])).code, 2);
    assert.deepEqual(readdirSync(empty), []);
    const json = await run(empty, ['config', 'migrate', '--json']);
    assert.equal(JSON.parse(json.err).code, 'CONFIG_INVALID');
  });

  it('answers 4 where it cannot write, and leaves the file as it was', async () => {
    const home = mkdtempSync(join(folder, 'home-'));
    // The backup's name would be longer than a file's name may be.
    const path = join(home, `${'c'.repeat(240)}.toml`);
    writeFileSync(path, FLAT);
    const { code, err } = await run(home, ['config', 'migrate', '--config', path]);
    assert.deepEqual([code, readFileSync(path, 'utf8'), readdirSync(home).length], [4, FLAT, 1]);
    assert.match(err, /could not be rewritten/);
  });

  it('rewrites what a link points to and leaves the link', async () => {
    const { home, path } = homeWith(FLAT);
    const elsewhere = mkdtempSync(join(folder, 'home-'));
    symlinkSync(path, join(elsewhere, 'config.toml'));
    assert.equal((await run(elsewhere, ['config', 'migrate'])).code, 0);
    assert.match(readFileSync(path, 'utf8'), /^schema_version = 2/);
    assert.deepEqual([readdirSync(elsewhere), backups(home).length], [['config.toml'], 1]);
  });

  it('two at once migrate once', async () => {
    const { home, path } = homeWith(FLAT);
    const ends = await Promise.all([1, 2, 3].map(() => run(home, ['config', 'migrate'])));
    assert.ok(
      ends.every(({ code }) => code === 0 || code === 4),
      JSON.stringify(ends),
    );
    assert.match(readFileSync(path, 'utf8'), /^schema_version = 2/);
    assert.ok(ends.some(({ code }) => code === 0));
    assert.ok(readdirSync(home).every((name) => name.startsWith('config.toml')));
  });

  it('cleans a client of what the file says already', async () => {
    const { home } = homeWith(FLAT);
    const user = mkdtempSync(join(folder, 'user-'));
    mkdirSync(join(user, '.cursor'));
    const path = join(user, '.cursor/mcp.json');
    const entry = (env: object) => ({ command: '/usr/bin/mnemesh', args: ['mcp'], env });
    const other = { command: 'other', env: { SVC_MAX_PAGE_SIZE: '6' } };
    const text = JSON.stringify(
      {
        mcpServers: {
          other,
          memory: entry({ SVC_MAX_PAGE_SIZE: '6', SVC_PROFILE: 'full', SVC_API_KEY: KEY, PATH: '/bin' }),
        },
      },
      null,
      4,
    );
    writeFileSync(path, text);
    const command = ['config', 'migrate', '--also-clean-cursor-config', '--json'];
    const env = { HOME: user };
    const dry = await run(home, [...command, '--dry-run'], { env });
    assert.deepEqual([dry.code, readFileSync(path, 'utf8')], [1, text]);
    const { code, out } = await run(home, command, { env });
    assert.equal(code, 0);
    assert.ok(!out.includes(KEY));
    const [client] = JSON.parse(out).clients;
    assert.deepEqual(
      [client.removed, client.differing, client.secrets],
      [['SVC_MAX_PAGE_SIZE'], [], ['SVC_API_KEY']],
    );
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
      mcpServers: { other, memory: entry({ SVC_PROFILE: 'full', SVC_API_KEY: KEY, PATH: '/bin' }) },
    });
    assert.equal(readFileSync(client.backup, 'utf8'), text);
    assert.equal((await run(home, [...command, '--dry-run'], { env })).code, 0);
  });
});

describe('config show', () => {
  it('names values and their origin, and hides keys', async () => {
    const { home } = homeWith(`api_key = "${KEY}"\n[limits]\nmax_page_size = 6`);
    const env = { SVC_LLM_API_KEY: KEY, SVC_MAX_PAGE_SIZE: '7' };
    const told = await run(home, ['config', 'show'], { env });
    assert.equal(told.code, 0);
    assert.match(told.out, /^apiKey +\[redacted\] +file: api_key$/m);
    assert.match(told.out, /^pageSizeMax +7 +environment: SVC_MAX_PAGE_SIZE$/m);
    assert.match(told.out, /^port +9077 +default$/m);
    const json = await run(home, ['config', 'show', '--json'], { env });
    assert.ok(!`${told.out}${told.err}${json.out}${json.err}`.includes(KEY));
  });

  it('works with a broken configuration, and says what is wrong', async () => {
    const { home } = homeWith('[limits]\nmax_page_size = 0');
    const { code, out } = await run(home, ['config', 'show']);
    assert.equal(code, 0);
    assert.match(out, /fatal: limits\.max_page_size .* must be between 1 and 100000/);
  });
});

// A process says each problem once.
describe('a configuration on standard error', () => {
  it('warns once of all legacy fields, and of each misspelt key', async () => {
    const { home } = homeWith('archive_on_gc = true\ndefault_namespace = "x"\nmisspelt = 1');
    const { code, err } = await runAlone(home, ['store', '-T', 'a', '-c', 'b', '--json']);
    assert.equal(code, 0);
    const lines = err
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ code: problem }) => problem),
      ['CONFIG_UNKNOWN_KEY', 'CONFIG_LEGACY_FIELDS'],
    );
    assert.match(lines[1].msg, /archive_on_gc, default_namespace$/);
  });

  it('is one plain line for people, and never anything on standard output', async () => {
    const { home } = homeWith(`[llm]\napi_key = "${KEY}"`);
    const { code, out, err } = await runAlone(home, ['stats']);
    assert.equal(code, 0);
    assert.match(err, /^error: [^\n{]*literal api_key in \[llm\][^\n{]*api_key_file\n$/);
    assert.doesNotMatch(out, /api_key/);
    const copied = onPostgres ? [] : [['backup', '--to', join(home, 'b')]];
    for (const args of [['stats'], ...copied, ['identity', 'list']]) {
      const json = await runAlone(home, [...args, '--json']);
      assert.equal(json.code, 0, json.err);
      assert.equal(json.out, `${JSON.stringify(JSON.parse(json.out))}\n`);
      assert.equal((JSON.parse(json.err) as { code: string }).code, 'CONFIG_INLINE_API_KEY');
      assert.ok(!(json.out + json.err + err).includes(KEY));
    }
    const silent = await runAlone(home, ['stats'], { env: { SVC_LOG_LEVEL: 'silent' } });
    assert.equal(silent.err, '');
  });

  it('holds an error for an inline key, and the node boots with the defaults', async () => {
    const { home } = homeWith(`[llm]\napi_key = "${KEY}"\n[storage]\ndefault_namespace = "x"`);
    const daemon = await startDaemonProcess(home, await freePort());
    try {
      const stored = await fetch(`${daemon.base}/memories`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title: 'a', content: 'b' }),
      });
      assert.equal(((await stored.json()) as { namespace: string }).namespace, 'global');
      assert.match(daemon.errors(), /CONFIG_INLINE_API_KEY/);
      assert.ok(!daemon.errors().includes(KEY));
    } finally {
      assert.equal(await daemon.end('SIGTERM'), 0);
    }
  });

  it('holds a warning at boot for admins without an API key', async () => {
    const { home } = homeWith('[admin]\nagent_ids = ["ai:root", "*"]');
    const daemon = await startDaemonProcess(home, await freePort());
    assert.equal(await daemon.end('SIGTERM'), 0);
    assert.match(daemon.errors(), /ADMIN_WITHOUT_API_KEY/);
    assert.match(daemon.errors(), /CONFIG_ADMIN_WILDCARD/);
  });

  it('says so when the embedder cannot be built, and recall goes by keyword', async () => {
    const { home } = homeWith('');
    const { code, out, err } = await runAlone(home, ['recall', 'x', '--json'], {
      env: { SVC_EMBED_BACKEND: 'groq', SVC_EMBED_MODEL: 'nobody/knows-it' },
    });
    assert.equal(code, 0);
    assert.equal(JSON.parse(out).mode, 'keyword');
    assert.match(err, /EMBED_BACKEND_UNAVAILABLE/);
  });
});

describe('a key on the command line', () => {
  it('is not possible: serve has no such flag', async () => {
    assert.equal((await run(homeWith('').home, ['serve', '--api-key', KEY])).code, 2);
  });
});
