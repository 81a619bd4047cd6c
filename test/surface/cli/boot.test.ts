import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { folderNamespace } from '../../../cli/sessions/folder-namespace.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { shownStore, unusableStore } from '../../support/test-store.js';
import { commandsIn, run } from './cli-process.js';

type Row = Record<string, unknown>;

const home = temporaryFolder('boot');
const command = commandsIn(home);
const project = join(temporaryFolder('boot-projects'), 'harbour');

async function boot(...args: string[]) {
  const { code, out, err } = await command('boot', '--cwd', project, ...args);
  assert.equal(code, 0, err);
  return out;
}
const report = async (...args: string[]) => JSON.parse(await boot('--format', 'json', ...args)) as Row;

before(async () => {
  mkdirSync(project);
  for (const [title, namespace] of [
    ['common', 'global'],
    ['ferry', 'harbour'],
    ['crane', 'harbour'],
  ]) {
    const stored = await command('store', '-T', title!, '-c', `about the ${title}`, '-n', namespace!);
    assert.equal(stored.code, 0, stored.err);
  }
});

describe('boot', { timeout: 120_000 }, () => {
  it('prints where it looked, and a line for each memory', async () => {
    const lines = (await boot()).trimEnd().split('\n');
    assert.match(lines[0]!, /^# mnemesh \S+: ok$/);
    assert.equal(lines[1], `# db: ${shownStore(home)} (schema v55, 3 memories)`);
    assert.match(lines[2]!, /^# tier: keyword \(embedder none, reranker none, llm none\)$/);
    assert.match(lines[3]!, /^# latency: \d+ ms$/);
    assert.equal(lines[4], '# namespace: harbour (2 shown)');
    assert.match(lines[5]!, /^- \[mid\/[0-9a-f]{8}\] crane \(ns=harbour, p=5, age=\d+m\)$/);
    assert.match(lines[6]!, /^- \[mid\/[0-9a-f]{8}\] ferry /);
    assert.equal(lines.length, 7);
  });

  it('gives the whole report as JSON', async () => {
    const { memories, version, latency_ms, ...rest } = await report();
    assert.deepEqual(
      (memories as Row[]).map(({ title, content }) => [title, content]),
      [
        ['crane', 'about the crane'],
        ['ferry', 'about the ferry'],
      ],
    );
    assert.equal(typeof version, 'string');
    assert.equal(typeof latency_ms, 'number');
    assert.deepEqual(rest, {
      status: 'ok',
      db_path: shownStore(home),
      schema_version: 'v55',
      schema_supported: 'v55',
      total_memories: '3',
      tier: 'keyword',
      embedder: 'none',
      reranker: 'none',
      llm: 'none',
      namespace: 'harbour',
      count: 2,
      note: null,
      fell_back_to_global: false,
      standards: [],
    });
  });

  it('falls back to the default namespace, and says so where there is nothing at all', async () => {
    const elsewhere = await report('--namespace', 'nowhere');
    assert.equal(elsewhere['fell_back_to_global'], true);
    assert.deepEqual(
      (elsewhere['memories'] as Row[]).map(({ title }) => title),
      ['common'],
    );
    assert.equal(elsewhere['note'], 'no memories in nowhere; these are from global');
    const empty = temporaryFolder('boot-empty');
    const none = await run(empty, ['boot', '--json', '--namespace', 'nowhere']);
    const said = JSON.parse(none.out) as Row;
    assert.deepEqual(
      [said['status'], said['count'], said['note']],
      ['info', 0, 'no memories in nowhere or global'],
    );
    assert.equal((await run(empty, ['boot', '--quiet', '--namespace', 'nowhere'])).out, '');
  });

  it('brings its limit into bounds, and keeps to the budget but for the first line', async () => {
    assert.equal((await report('--limit', '0'))['count'], 1);
    assert.equal((await report('--limit', '999'))['count'], 2);
    assert.equal((await boot('--no-header', '--budget-tokens', '30')).split('\n').length, 2);
    assert.equal((await boot('--no-header', '--budget-tokens', '1')).split('\n').length, 2);
    assert.equal((await boot('--no-header', '--budget-tokens', '0')).split('\n').length, 3);
  });

  it('prints the standard of the namespace before the memories', async () => {
    const { out } = await command(
      'store',
      '--json',
      '-T',
      'rules',
      '-c',
      'Ask\nbefore you sail',
      '-n',
      'house',
    );
    const { id } = JSON.parse(out) as { id: string };
    const pinned = await command('namespace', 'set-standard', '--namespace', 'house', '--id', id);
    assert.equal(pinned.code, 0, pinned.err);
    const text = await boot('--no-header', '--namespace', 'house');
    assert.match(text, /^standard of house: rules\nAsk\nbefore you sail\n- \[mid/);
  });

  it('writes TOON in both forms', async () => {
    assert.match(
      await boot('--format', 'toon', '--no-header'),
      /^count:2\|mode:session_start\nmemories\[id\|title/,
    );
    for (const format of ['toon-compact', 'toon_compact'])
      assert.match(
        await boot('--format', format),
        /\nmemories\[id\|title\|tier\|namespace\|priority\|score\|tags/,
      );
  });

  it('is silent when it is switched off', async () => {
    for (const args of [['boot'], ['boot', '--json']]) {
      const answer = await run(home, args, { env: { SVC_BOOT_ENABLED: '0' } });
      assert.deepEqual(answer, { code: 0, out: '', err: '' });
    }
    writeFileSync(join(home, 'off.toml'), 'schema_version = 2\n[boot]\nenabled = false\n');
    assert.deepEqual(await command('boot', '--config', join(home, 'off.toml')), {
      code: 0,
      out: '',
      err: '',
    });
  });

  it('shows no text where the operator wants none', async () => {
    const config = join(home, 'private.toml');
    writeFileSync(config, 'schema_version = 2\n[boot]\nredact_titles = true\n');
    const text = await boot('--config', config, '--no-header');
    assert.match(text, /\] <redacted> \(/);
    assert.ok(!/ferry|crane/.test(text));
    const { memories } = (await report('--config', config)) as { memories: Row[] };
    assert.deepEqual(
      memories.map(({ title, content, tags, metadata }) => ({ title, content, tags, metadata })),
      Array(2).fill({ title: '<redacted>', content: '', tags: [], metadata: {} }),
    );
  });

  it('shows what the caller may see', async () => {
    const secret = await command(
      ...[
        'store',
        '-T',
        'secret',
        '-c',
        'only mine',
        '-n',
        'closed',
        '--scope',
        'private',
        '--agent-id',
        'ai:ada',
      ],
    );
    assert.equal(secret.code, 0, secret.err);
    const titles = async (agent: string) => {
      const { memories } = await report('--namespace', 'closed', '--agent-id', agent);
      return (memories as Row[]).map(({ title }) => title);
    };
    assert.deepEqual(await titles('ai:ada'), ['secret']);
    assert.deepEqual(await titles('ai:bob'), ['common']);
  });

  it('ends with 0 where the node cannot be asked, and says why', async () => {
    const broken = temporaryFolder('boot-broken');
    const env = unusableStore(broken);
    const warned = await run(broken, ['boot', '--json'], { env });
    assert.equal(warned.code, 0);
    const said = JSON.parse(warned.out) as Row;
    assert.equal(said['status'], 'warn');
    assert.match(String(said['note']), /database/);
    assert.deepEqual(said['memories'], []);
    assert.match((await run(broken, ['boot'], { env })).out, /^# mnemesh \S+: warn\n[\s\S]*# note: /);
    assert.equal((await run(broken, ['boot', '--quiet'], { env })).out, '');
    writeFileSync(join(broken, 'config.toml'), 'schema_version = "two');
    assert.match((await run(broken, ['boot'], { env })).out, /: warn\n/);
  });

  it('refuses words that it does not know', async () => {
    for (const [args, problem] of [
      [['--format', 'xml'], /--format: "xml" is not one of text, json, toon/],
      [['--limit', 'many'], /--limit must be a whole number/],
      [['--namespace', 'a//b'], /--namespace: /],
      [['--json', '--format', 'toon'], /--json and --format contradict each other/],
      [['--loud'], /unknown flag --loud/],
    ] as const) {
      const answer = await command('boot', ...args);
      assert.equal(answer.code, 2, args.join(' '));
      assert.match(answer.err, problem);
    }
  });
});

describe('the namespace of a folder', () => {
  const folder = temporaryFolder('names');
  const made = (path: string, config?: string) => {
    mkdirSync(join(folder, path, ...(config === undefined ? [] : ['.git'])), { recursive: true });
    if (config !== undefined) writeFileSync(join(folder, path, '.git', 'config'), config);
    return join(folder, path);
  };

  it('is the name of its repository, by the address of origin or by its folder', () => {
    for (const url of ['git@host:team/sea.git', 'https://host/team/sea', 'ssh://host/team/sea.git/']) {
      const root = made(
        `url-${url.length}`,
        `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n\tfetch = x\n`,
      );
      mkdirSync(join(root, 'deep', 'er'), { recursive: true });
      assert.equal(folderNamespace(join(root, 'deep', 'er')), 'sea');
    }
    assert.equal(folderNamespace(made('local', '[core]\n\tbare = false\n')), 'local');
  });

  it('is that of the repository in a worktree', () => {
    const root = made('main', '[remote "origin"]\n\turl = git@host:team/shared.git\n');
    mkdirSync(join(root, '.git', 'worktrees', 'side'), { recursive: true });
    writeFileSync(join(root, '.git', 'worktrees', 'side', 'commondir'), '../..\n');
    const side = made('side');
    writeFileSync(join(side, '.git'), `gitdir: ${join(root, '.git', 'worktrees', 'side')}\n`);
    assert.equal(folderNamespace(side), 'shared');
  });

  it('holds only characters of namespaces, and is null where none is left', () => {
    assert.equal(folderNamespace(made('my project (new)')), 'my-project-new');
    assert.equal(folderNamespace(made('_agents')), 'agents');
    assert.equal(folderNamespace('/'), null);
  });
});
