import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { logLine } from '../../../cli/logs/log-lines.js';
import { loadSettings } from '../../../node/config/load-settings.js';
import { stderrLog } from '../../../node/log.js';
import { fileLine, openLog } from '../../../node/observability/log-files.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { until } from '../../support/wait.js';
import { commandsIn } from './cli-process.js';

const OLD = 'mnemesh.log.20260101T000000Z';
const OLDER = 'mnemesh.log.20250101T000000Z';
const LINES = [
  '2026-01-01T10:00:00.000Z info the node runs {"agent_id":"ai:a"}',
  '2026-01-01T11:00:00.000Z warn a {brace} in the words {"namespace":"team","code":"A_B"}',
  '{"time":"2026-01-01T12:00:00.000Z","level":"error","msg":"it failed","peer":"n1"}',
];

/** A home with one file of three lines, and an earlier file for each name. */
function homeWithLogs(label: string, ...earlier: readonly string[]) {
  const home = temporaryFolder(label);
  const folder = join(home, 'logs');
  mkdirSync(folder);
  writeFileSync(join(folder, 'mnemesh.log'), `${LINES.join('\n')}\n`);
  for (const name of earlier) {
    const day = `${name.slice(12, 16)}-${name.slice(16, 18)}-${name.slice(18, 20)}`;
    writeFileSync(join(folder, name), `${day}T00:00:00.000Z info of ${day}\n`.repeat(100));
    utimesSync(join(folder, name), new Date(day), new Date(day));
  }
  return { folder, cli: commandsIn(home) };
}

const messages = (out: string) =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => logLine(line).message);

describe('log files', { timeout: 120_000 }, () => {
  it('have the lines of a node that runs, until its last one', async () => {
    const home = temporaryFolder('log-files');
    const folder = join(home, 'elsewhere');
    const config =
      '[logging]\nenabled = true\nstructured = true\nlevel = "info"\nfilename_prefix = "node.log"\n';
    writeFileSync(join(home, 'config.toml'), config);
    const env = { SVC_LOG_DIR: folder, SVC_LOG_LEVEL: 'info' };
    const daemon = await startDaemonProcess(home, await freePort(), env);
    const path = join(folder, 'node.log');
    const hasOwnership = () =>
      existsSync(path) && /database ownership changed/.test(readFileSync(path, 'utf8'));
    await until('the file has a line', hasOwnership);
    assert.equal(await daemon.end('SIGTERM'), 0);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const heard = daemon.errors().trimEnd().split('\n');
    assert.equal(
      lines.length,
      heard.filter((line) => line.startsWith('{')).length,
      'as many as on standard error',
    );
    const { time, level, msg } = JSON.parse(lines.at(-1)!) as Record<string, string>;
    assert.deepEqual([typeof time, level, typeof msg], ['string', 'info', 'string']);
    assert.deepEqual([statSync(folder).mode & 0o777, statSync(path).mode & 0o777], [0o700, 0o600]);
  });

  it('begin anew when they are full, and are dropped by number and age', async () => {
    const home = temporaryFolder('log-rotation');
    const folder = join(home, 'logs');
    mkdirSync(folder);
    const ancient = join(folder, OLDER);
    writeFileSync(ancient, 'x\n');
    utimesSync(ancient, new Date('2025-01-01'), new Date('2025-01-01'));
    const toml =
      '[logging]\nenabled = true\nmax_size_mb = 1\nmax_files = 2\nretention_days = 30\nrotation = "never"\n';
    writeFileSync(join(home, 'config.toml'), toml);
    const { log, close } = openLog(loadSettings({ home }, { env: {} }), stderrLog('silent'));
    assert.equal(existsSync(ancient), false, 'older than the retention');
    for (let index = 0; index < 5 * 1024; index += 1) log.error({ text: 'x'.repeat(1000) }, `line ${index}`);
    await close();
    await until('the rest is dropped', () => readdirSync(folder).length === 3);
    for (const name of readdirSync(folder))
      assert.ok(statSync(join(folder, name)).size < 1.1 * 1024 * 1024, name);
    const last = readFileSync(join(folder, 'mnemesh.log'), 'utf8').trimEnd().split('\n').at(-1)!;
    assert.match(last, /line 5119 /);
  });

  it('begin anew when the time of their rotation has come, and not before', async () => {
    const minutes = { minutely: 2, hourly: 121, daily: 2 * 24 * 60 };
    for (const [rotation, age] of [...Object.entries(minutes), ['never', 1_000_000] as const]) {
      const home = temporaryFolder('log-times');
      const folder = join(home, 'logs');
      mkdirSync(folder);
      const present = join(folder, 'mnemesh.log');
      writeFileSync(present, 'of before\n');
      const then = new Date(Date.now() - age * 60_000);
      utimesSync(present, then, then);
      writeFileSync(join(home, 'config.toml'), `[logging]\nenabled = true\nrotation = "${rotation}"\n`);
      const { log, close } = openLog(loadSettings({ home }, { env: {} }), stderrLog('silent'));
      log.error({}, 'a line of now');
      await close();
      const begins = rotation !== 'never';
      await until(`${rotation} has its files`, () => readdirSync(folder).length === (begins ? 2 : 1));
      assert.equal(readFileSync(present, 'utf8').startsWith('of before'), !begins, rotation);
    }
  });

  it('have the lines of their level and of those above it', async () => {
    for (const [level, wanted] of [
      ['debug', ['d', 'i', 'w', 'e']],
      ['info', ['i', 'w', 'e']],
      ['warn', ['w', 'e']],
      ['error', ['e']],
      ['silent', []],
    ] as const) {
      const home = temporaryFolder('log-levels');
      writeFileSync(join(home, 'config.toml'), `[logging]\nenabled = true\nlevel = "${level}"\n`);
      const { log, close } = openLog(loadSettings({ home }, { env: {} }), stderrLog('silent'));
      for (const each of ['debug', 'info', 'warn', 'error'] as const) log[each]({}, each[0]!);
      await close();
      const text = readFileSync(join(home, 'logs', 'mnemesh.log'), 'utf8');
      assert.deepEqual(text === '' ? [] : messages(text), wanted, level);
    }
  });

  it('refuse the start where they cannot be written', () => {
    const home = temporaryFolder('log-refused');
    writeFileSync(join(home, 'file'), '');
    const settings = loadSettings({ home, logDir: join(home, 'file/logs'), logToFiles: true }, { env: {} });
    assert.throws(() => openLog(settings), /file\/logs, cannot be written \(ENOTDIR\): correct/);
  });

  it('have one line for an event, whatever it says', () => {
    for (const logStructured of [true, false]) {
      const text = fileLine(
        { logStructured },
        'warn',
        { err: new Error('a\nb'), n: 1 },
        'it {"x":1} \n\u001b[31m',
      );
      assert.equal(text.trimEnd().includes('\n'), false);
      assert.equal(text.includes('\u001b'), false);
      const { level, facts } = logLine(text.trimEnd());
      assert.equal(level, 'warn');
      assert.equal(facts['n'], 1);
    }
  });
});

describe('the logs commands', { timeout: 120_000 }, () => {
  it('choose lines by time, level, namespace, actor and action', async () => {
    const { cli } = homeWithLogs('logs-filter');
    const shown = async (...flags: string[]) => messages((await cli('logs', 'cat', ...flags)).out);
    const [runs, brace, failed] = ['the node runs', 'a {brace} in the words', 'it failed'];
    assert.deepEqual(await shown(), [runs, brace, failed]);
    assert.deepEqual(await shown('--level', 'warn'), [brace, failed]);
    assert.deepEqual(await shown('--since', '2026-01-01T11:00:00Z', '--until', '2026-01-01T11:30:00Z'), [
      brace,
    ]);
    assert.deepEqual(await shown('--namespace', 'team'), [brace]);
    assert.deepEqual(await shown('--actor', 'n1'), [failed]);
    assert.deepEqual(await shown('--actor', 'ai:a'), [runs]);
    assert.deepEqual(await shown('--action-filter', 'A_B'), [brace]);
    const { out } = await cli('logs', 'cat', '--format', 'json', '--namespace', 'team');
    assert.deepEqual(JSON.parse(out), {
      ...{ time: '2026-01-01T11:00:00.000Z', level: 'warn', message: brace },
      ...{ namespace: 'team', code: 'A_B' },
    });
    assert.equal((await cli('logs', 'cat', '--since', 'whenever')).code, 2);
    assert.equal((await cli('logs', 'cat', '--level', 'loud')).code, 2);
  });

  it('show the last lines over several files, and follow one that is replaced', async () => {
    const { cli, folder } = homeWithLogs('logs-tail', OLD);
    const tail = async (lines: string) => messages((await cli('logs', 'tail', '--lines', lines)).out);
    assert.deepEqual(await tail('2'), ['a {brace} in the words', 'it failed']);
    assert.deepEqual((await tail('4'))[0], 'of 2026-01-01');
    const follow = ['--lines', '0', '--follow', '--follow-interval-ms', '200', '--max-polls', '20'];
    const followed = cli('logs', 'tail', ...follow);
    for (let index = 0; index < 40; index += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      writeFileSync(join(folder, 'mnemesh.log'), `2026-01-02T00:00:00.000Z info added ${index}\n`, {
        flag: index === 20 ? 'w' : 'a',
      });
    }
    const { out, code } = await followed;
    assert.equal(code, 0);
    const added = messages(out);
    assert.ok(added.length >= 10, out);
    assert.ok(added.includes('added 30'), out);
  });

  it('compress earlier files, and still read them', async () => {
    const { cli, folder } = homeWithLogs('logs-archive', OLD, OLDER);
    const before = await cli('logs', 'cat');
    const { out } = await cli('logs', 'archive', '--json');
    const { archived, bytes_before, bytes_after } = JSON.parse(out) as Record<string, number>;
    assert.equal(archived, 2);
    assert.ok(bytes_after! < bytes_before!);
    assert.deepEqual(readdirSync(folder).sort(), ['mnemesh.log', `${OLDER}.gz`, `${OLD}.gz`]);
    assert.equal((await cli('logs', 'cat')).out, before.out);
    assert.equal(JSON.parse((await cli('logs', 'archive', '--json')).out).archived, 0);
  });

  it('remove earlier files before an instant, never the present one', async () => {
    const { cli, folder } = homeWithLogs('logs-purge', OLD, OLDER);
    const dry = await cli('logs', 'purge', '--before', '2025-06-01', '--dry-run', '--json');
    assert.deepEqual(JSON.parse(dry.out).files, [OLDER]);
    assert.equal(readdirSync(folder).length, 3);
    const purged = await cli('logs', 'purge', '--before', '2025-06-01');
    assert.match(purged.err, /cannot be brought back/);
    assert.deepEqual(readdirSync(folder).sort(), ['mnemesh.log', OLD]);
    const quiet = await cli('logs', 'purge', '--before', '2099-01-01', '--no-warn');
    assert.equal(quiet.err, '');
    assert.deepEqual(readdirSync(folder), ['mnemesh.log']);
    assert.equal((await cli('logs', 'purge')).code, 2);
  });

  it('say how to get files where there are none', async () => {
    const { code, err } = await commandsIn(temporaryFolder('logs-none'))('logs', 'tail');
    assert.equal(code, 1);
    assert.match(err, /set \[logging\] enabled to true/);
  });
});
