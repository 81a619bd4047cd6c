import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { agentText, unitText } from '../../../cli/service/service-file.js';
import { MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { run } from './cli-process.js';

const has = (program: string) => spawnSync(program, ['--version']).error === undefined;
const onLinux = platform() === 'linux' ? false : 'the services of this platform are others';

/** A user whose `systemctl` is a script: it records its words, and answers as the lines of its body say. */
function user(body: string) {
  const home = temporaryFolder('service');
  const bin = join(home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >> ${home}/calls\n${body}\n`);
  chmodSync(join(bin, 'systemctl'), 0o755);
  const env = { HOME: home, PATH: `${bin}:${process.env['PATH']}` };
  const unit = join(home, '.config/systemd/user/mnemesh.service');
  const calls = () => (existsSync(join(home, 'calls')) ? readFileSync(join(home, 'calls'), 'utf8') : '');
  const serve = (...words: string[]) => run(home, ['serve', ...words], { env });
  return { home, unit, calls, serve };
}

describe('serve --install', { skip: onLinux }, () => {
  it('writes a unit, starts it and says how it is looked after; --uninstall ends and removes it', async () => {
    const { home, unit, calls, serve } = user('exit 0');
    const { code, out, err } = await serve('--install', '--port', '9123', '--db', join(home, 'a b.db'));
    assert.equal(code, 0, err);
    assert.match(out, /^the node runs as a service: \S+mnemesh\.service\nstatus: systemctl --user status/);
    const text = readFileSync(unit, 'utf8');
    const exec = `ExecStart=${process.execPath} ${MAIN} serve --port 9123 --db "${home}/a b.db"`;
    assert.ok(text.split('\n').includes(exec), text);
    assert.ok(text.includes(`Environment=SVC_HOME=${home}\n`), text);
    assert.match(out, /not taken along, put it into the configuration file: .*SVC_REQUIRE_AGENT_ATTESTATION/);
    assert.doesNotMatch(text, /ATTESTATION/);
    const again = ['show-environment', 'daemon-reload', 'enable', 'restart', 'is-active'];
    const verbs = () =>
      calls()
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[1]);
    assert.deepEqual(verbs(), again);
    assert.equal((await serve('--install', '--port', '9124')).code, 0);
    assert.match(readFileSync(unit, 'utf8'), /--port 9124/);

    const gone = await serve('--uninstall');
    assert.equal(gone.code, 0, gone.err);
    assert.equal(existsSync(unit), false);
    assert.deepEqual(verbs().slice(-2), ['disable', 'daemon-reload']);
    assert.match((await serve('--uninstall')).out, /^there is no service: /);
  });

  it('changes nothing where systemd does not serve the user, or the unit is not of this program', async () => {
    const without = user('echo "Failed to connect to bus" >&2; exit 1');
    const refused = await without.serve('--install');
    assert.equal(refused.code, 75);
    assert.match(
      refused.err,
      /systemd does not serve this user \(.*Failed to connect to bus\): start the node with/,
    );
    assert.equal(existsSync(without.unit), false);

    const { unit, calls, serve } = user('exit 0');
    mkdirSync(dirname(unit), { recursive: true });
    writeFileSync(unit, '[Service]\nExecStart=/bin/true\n');
    for (const flag of ['--install', '--uninstall']) {
      const { code, err } = await serve(flag);
      assert.equal(code, 1);
      assert.match(err, /was not written by this program; nothing was changed/);
    }
    assert.equal(readFileSync(unit, 'utf8'), '[Service]\nExecStart=/bin/true\n');
    assert.doesNotMatch(calls(), /enable|disable|restart/);
  });

  it('reads the configuration file that a variable names', async () => {
    const home = temporaryFolder('service');
    const file = join(home, 'mine.toml');
    writeFileSync(file, '[http]\nport = 9123\n');
    const text = async (env: Record<string, string>, ...words: string[]) =>
      (await run(home, ['serve', '--install', '--dry-run', ...words], { env: { HOME: home, ...env } })).out;
    assert.ok((await text({ SVC_CONFIG: file })).includes(`\nEnvironment=SVC_CONFIG=${file}\n`));
    const flagged = await text({ SVC_CONFIG: '/other.toml' }, '--config', file);
    assert.ok(flagged.includes(` --config ${file}\n`) && !flagged.includes('SVC_CONFIG'), flagged);
    assert.ok((await text({ SVC_NO_CONFIG: '1' })).includes('\nEnvironment=SVC_NO_CONFIG=1\n'));
  });

  it('says so when the node of the service ends at its start', async () => {
    const { serve, unit } = user('case "$2" in is-active) exit 3;; esac');
    const { code, err } = await serve('--install');
    assert.equal(code, 75);
    assert.match(err, /is installed \(\S+\), and its node ended: .*journalctl --user --unit mnemesh/);
    assert.ok(existsSync(unit));
  });

  it('refuses flags that contradict each other', async () => {
    const { serve } = user('exit 0');
    for (const [words, problem] of [
      [['--install', '--uninstall'], /--install and --uninstall contradict each other/],
      [['--dry-run'], /--dry-run needs --install/],
      [['--install', '--port', 'x'], /port/],
    ] as const) {
      const { code, err } = await serve(...words);
      assert.equal(code, 2, err);
      assert.match(err, problem);
    }
  });

  it('writes a unit that systemd accepts', {
    skip: has('systemd-analyze') ? false : 'there is no systemd-analyze',
  }, async () => {
    const { home, serve, calls } = user('exit 0');
    const odd = join(home, 'with $HOME, 100% "quoted"');
    const { code, out } = await serve('--install', '--dry-run', '--db', odd);
    assert.equal(code, 0);
    assert.equal(calls(), '');
    const file = join(home, 'mnemesh.service');
    writeFileSync(file, out);
    const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', '--man=no', file], {
      encoding: 'utf8',
      env: { ...process.env, XDG_RUNTIME_DIR: home },
    });
    assert.equal(status, 0, `${stderr}\n${out}`);
    assert.doesNotMatch(stderr, /mnemesh\.service/);
  });
});

describe('the files of services', () => {
  const words = ['/usr/bin/node', '/a & b/<main>.js', 'serve', '--db', '/x/100%/$y "z"\\'];
  const env = { SVC_HOME: '/home/a & b' };

  it('quote what systemd would read as something else', () => {
    const unit = unitText({ command: words, env });
    assert.ok(unit.includes('"/x/100%%/$$y \\"z\\"\\\\"'), unit);
    assert.ok(unit.includes('Environment="SVC_HOME=/home/a & b"'), unit);
  });

  it('are a property list that a parser reads back', {
    skip: has('python3') ? false : 'there is no python3',
  }, () => {
    const program = 'import plistlib,json,sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
    const input = agentText({ command: words, env }, '/log');
    const { stdout, stderr } = spawnSync('python3', ['-c', program], { input, encoding: 'utf8' });
    assert.notEqual(stdout, '', stderr);
    const read = JSON.parse(stdout);
    assert.deepEqual(read.ProgramArguments, words);
    assert.deepEqual(read.EnvironmentVariables, env);
    assert.deepEqual([read.Label, read.RunAtLoad, read.Umask], ['mnemesh', true, 0o77]);
  });
});
