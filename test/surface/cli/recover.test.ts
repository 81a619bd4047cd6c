import assert from 'node:assert/strict';
import { appendFileSync, cpSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { folderSlugs } from '../../../cli/recover/host-files.js';
import { PROJECT } from '../../architecture/source-files.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { HookHome } from '../../support/hooks.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

const fixture = (name: string) => join(PROJECT, 'fixtures/mine', name);
const SESSION = '3f0c2a9e-7b1d-4c55-9a55-0d4c1f6b7a10';
const CLAUDE = fixture(`claude-code/-home-ann-harbour/${SESSION}.jsonl`);
const CODEX = '2026/05/11/rollout-2026-05-11T09-00-00-019a7c1e-52f0-7c40-8e65-1b0c9d6f2a33.jsonl';

/** A home, and a user's folder in it. */
function node() {
  const home = temporaryFolder('recover');
  const command = async (...args: string[]) => run(home, args, { env: { HOME: home } });
  const recover = async (...args: string[]) => {
    const { code, out, err } = await command('recover-previous-session', '--json', ...args);
    return { code, report: JSON.parse(out === '' ? err : out) as Row };
  };
  const rows = async () => {
    const { out } = await command('list', '--json', '--limit', '200');
    const { memories } = JSON.parse(out) as { memories: Row[] };
    return memories.sort((left, right) =>
      String(left['created_at']) < String(right['created_at']) ? -1 : 1,
    );
  };
  return { home, command, recover, rows };
}

describe('recover-previous-session', { timeout: 240_000 }, () => {
  it('stores each turn of a session once, with what tools were called', async () => {
    const { recover, rows } = node();
    const { code, report } = await recover('--transcript', CLAUDE);
    assert.equal(code, 0, JSON.stringify(report));
    const { memories_created, ...rest } = report;
    const elapsed = Object.keys(rest).filter((name) => name.startsWith('elapsed_ms'));
    assert.deepEqual(elapsed.sort(), [
      'elapsed_ms',
      'elapsed_ms_dedup_query',
      'elapsed_ms_parse',
      'elapsed_ms_resolve_path',
      'elapsed_ms_writes',
    ]);
    for (const name of elapsed) delete rest[name];
    assert.deepEqual(rest, {
      transcript_path: CLAUDE,
      host_kind: 'claude-code',
      lines_total: 9,
      lines_atomised: 5,
      lines_skipped_dedup: 0,
      lines_skipped_limit: 0,
      errors: [],
      schema_version_at_run: 55,
      fast_path_hit: false,
    });
    const stored = await rows();
    assert.deepEqual((memories_created as string[]).sort(), stored.map(({ id }) => String(id)).sort());
    const [, question, call] = stored;
    assert.equal(question!['content'], 'When may we deploy the ferry service?');
    const { title, tier, source, priority, tags, metadata, created_at } = question!;
    const line = (metadata as Row)['line_sha256'];
    assert.match(String(line), /^[0-9a-f]{64}$/);
    assert.equal(title, `L2 recovered user turn ${line} @ 2026-05-11T08:00:01.000Z`);
    assert.deepEqual(
      [tier, source, priority, created_at],
      ['long', 'recover', 6, '2026-05-11T08:00:01.000Z'],
    );
    assert.deepEqual([...(tags as string[])].sort(), [
      'captured-via-l2',
      'host:claude-code',
      'operator-directive',
      'recovered-from-transcript',
      'role:user',
    ]);
    const { agent_id, host_kind, transcript_path, role, capture_layer, tool_calls } = metadata as Row;
    assert.deepEqual(
      { agent_id, host_kind, transcript_path, role, capture_layer, tool_calls },
      {
        agent_id: 'ai:claude-code',
        host_kind: 'claude-code',
        transcript_path: CLAUDE,
        role: 'user',
        capture_layer: 'L2',
        tool_calls: [],
      },
    );
    assert.equal(call!['content'], 'I look at the runbook.');
    assert.equal(call!['priority'], 5);
    assert.ok((call!['tags'] as string[]).includes('agent-response'));
    assert.deepEqual((call!['metadata'] as Row)['tool_calls'], [
      { tool: 'Read', brief: '{"file_path":"/home/ann/harbour/runbook.md"}' },
    ]);

    const again = (await recover('--transcript', CLAUDE)).report;
    assert.deepEqual(
      [again['lines_atomised'], again['lines_skipped_dedup'], again['fast_path_hit']],
      [0, 5, true],
    );
    assert.equal((await rows()).length, 5);
  });

  it('finds the newest session of the folder, and goes on where it ended', async () => {
    const { home, recover, rows } = node();
    const slug = folderSlugs(process.cwd())[0]!;
    const file = join(home, '.claude/projects', slug, `${SESSION}.jsonl`);
    mkdirSync(join(file, '..'), { recursive: true });
    cpSync(CLAUDE, file);
    cpSync(fixture('codex'), join(home, '.codex/sessions'), { recursive: true });
    const old = new Date('2026-01-01T00:00:00Z');
    utimesSync(join(home, '.codex/sessions', CODEX), old, old);
    utimesSync(
      join(
        home,
        '.codex/sessions/2026/05/11/rollout-2025-05-11T09-00-00-5973b6c0-94b8-487b-a530-2aeb6098ae0e.jsonl',
      ),
      old,
      old,
    );
    const first = (await recover('--limit', '2')).report;
    assert.equal(first['transcript_path'], file);
    assert.deepEqual([first['lines_atomised'], first['lines_skipped_limit']], [2, 3]);
    const next = (await recover()).report;
    assert.deepEqual([next['lines_atomised'], next['lines_skipped_dedup']], [3, 2]);
    assert.equal((await recover('--host', 'codex', '--dry-run')).report['host_kind'], 'codex');
    assert.equal((await rows()).length, 5);
    const line = readFileSync(CLAUDE, 'utf8').split('\n')[3]!;
    appendFileSync(file, `${line.replace('When may we deploy', 'When else may we deploy')}\n`);
    assert.deepEqual((await recover('--host', 'anything')).report['lines_atomised'], 1);
  });

  it('reads the sessions of Codex and of Gemini CLI', async () => {
    const { recover, rows } = node();
    const codex = (await recover('--transcript', fixture(`codex/${CODEX}`), '--namespace', 'harbour')).report;
    assert.deepEqual([codex['host_kind'], codex['lines_atomised'], codex['errors']], ['codex', 5, []]);
    const gemini = fixture('gemini/session-2026-05-11T10-00-1a2b3c4d.json');
    const told = (await recover('--transcript', gemini)).report;
    assert.deepEqual([told['host_kind'], told['lines_atomised'], told['errors']], ['gemini-cli', 3, []]);
    const stored = await rows();
    assert.ok(
      stored.some(
        ({ content, namespace }) => content === 'Rename the crane module' && namespace === 'harbour',
      ),
    );
    assert.ok(stored.some(({ content }) => content === '[tool calls] shell: {"command":["ls"]}'));
    assert.ok(
      stored.some(({ content, namespace }) => content === 'And at high tide?' && namespace === 'global'),
    );
  });

  it('stores only turns since an instant, and nothing in a dry run', async () => {
    const { recover, rows } = node();
    const dry = (await recover('--transcript', CLAUDE, '--dry-run')).report;
    assert.deepEqual([dry['dry_run'], dry['lines_atomised'], dry['memories_created']], [true, 5, []]);
    assert.deepEqual(await rows(), []);
    const since = '2026-05-11T10:00:09+02:00';
    assert.equal((await recover('--transcript', CLAUDE, '--since', since)).report['lines_atomised'], 2);
  });

  it('keeps the turns of each agent apart', async () => {
    const { recover, command } = node();
    for (const agent of ['ai:ada', 'ai:bob'])
      assert.equal((await recover('--transcript', CLAUDE, '--agent-id', agent)).report['lines_atomised'], 5);
    const { out } = await command('list', '--json', '--owner', 'ai:bob');
    assert.equal((JSON.parse(out) as Row)['count'], 5);
  });

  it('names lines that it cannot read, and ends with 0 when it must be quiet', async () => {
    const { home, recover, command } = node();
    const file = join(home, 'session.jsonl');
    const said = {
      type: 'user',
      sessionId: 's',
      timestamp: '2026-05-11T08:00:00Z',
      message: { role: 'user', content: 'hi' },
    };
    writeFileSync(file, `${JSON.stringify(said)}\n{"cut\n`);
    const { code, report } = await recover('--transcript', file);
    assert.equal(code, 2);
    assert.equal(report['lines_atomised'], 1);
    assert.deepEqual(report['errors'], ['line 2 is not JSON: left out']);
    assert.equal((await recover('--transcript', file, '--quiet')).code, 0);
    const quiet = await command('recover-previous-session', '--transcript', file, '--quiet');
    assert.deepEqual([quiet.code, quiet.out], [0, '']);
    for (const [args, problem] of [
      [['--transcript', join(home, 'missing')], /there is no file/],
      [['--host', 'codex'], /there is no session of codex/],
    ] as const) {
      const failed = await command('recover-previous-session', ...args);
      assert.equal(failed.code, 2);
      assert.match(failed.err, problem);
      assert.equal((await command('recover-previous-session', ...args, '--quiet')).code, 0);
    }
    for (const args of [
      ['--since', 'yesterday'],
      ['--limit', 'x'],
      ['--namespace', 'a//b'],
    ])
      assert.equal((await command('recover-previous-session', ...args, '--quiet')).code, 2, args.join(' '));
  });

  it('takes turns and tools of any length', async () => {
    const { home, recover, rows } = node();
    const file = join(home, 'session.jsonl');
    const content = [
      { type: 'text', text: '漁'.repeat(400_000) },
      { type: 'tool_use', name: `long\u0007 ${'x'.repeat(500)}`, input: { deep: 'y'.repeat(5000) } },
      { type: 'tool_use', name: '', input: null },
    ];
    writeFileSync(
      file,
      `${JSON.stringify({ type: 'assistant', sessionId: 's', message: { role: 'assistant', content } })}\n`,
    );
    const { code, report } = await recover('--transcript', file);
    assert.deepEqual([code, report['lines_atomised'], report['errors']], [0, 1, []]);
    const [row] = await rows();
    const calls = (row!['metadata'] as Row)['tool_calls'] as { tool: string; brief: string }[];
    assert.deepEqual(
      calls.map(({ tool, brief }) => [tool.length, brief.length]),
      [
        [128, 200],
        [7, 4],
      ],
    );
    assert.ok(Buffer.byteLength(String(row!['content'])) <= 65_536);
    assert.equal((await recover('--transcript', file)).report['fast_path_hit'], true);
  });

  it('asks the hooks about each turn', async () => {
    const hooks = new HookHome();
    const guard = hooks.node(
      "const { payload } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));",
      'const says = (word) => payload.content.includes(word);',
      "const deny = { action: 'deny', reason: 'a secret place', code: 403 };",
      "const modify = { action: 'modify', delta: { content: 'no word of it' } };",
      "if (says('runbook')) console.log(JSON.stringify(deny));",
      "else if (says('Sundays')) console.log(JSON.stringify(modify));",
    );
    hooks.register({ event: 'pre_transcript_store', command: guard, fail_mode: 'closed' });
    const recovered = await run(hooks.home, ['recover-previous-session', '--transcript', CLAUDE, '--json']);
    assert.equal(recovered.code, 2);
    const report = JSON.parse(recovered.out) as Row;
    assert.equal(report['lines_atomised'], 4);
    assert.match(String(report['errors']), /^line 5: .*a secret place/);
    const { out } = await run(hooks.home, ['list', '--json']);
    const contents = (JSON.parse(out) as { memories: Row[] }).memories.map(({ content }) => content);
    assert.ok(contents.includes('no word of it'));
    assert.ok(contents.every((content) => !/runbook|Sundays/.test(String(content))));
  });

  it('knows the names that clients give to the folder of a project', () => {
    assert.deepEqual(folderSlugs('/srv/my.app'), ['-srv-my-app', '-srv-my.app', '--srv-my.app']);
  });
});
