import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { absolutePath } from '../../../node/config/paths.js';
import {
  cleanEnvironment,
  freePort,
  MAIN,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';

/** What keeps a process on its file on every store. */
const A_FILE = { SVC_STORE_URL: '' };

/** Runs a command as a user would. */
function run(words: readonly string[], env: NodeJS.ProcessEnv, cwd: string) {
  const done = spawnSync(process.execPath, [MAIN, ...words], { env, cwd, encoding: 'utf8' });
  return { code: done.status, out: done.stdout, errors: done.stderr };
}

/** The variables of a process in a folder whose home may be a path from there. */
const environmentIn = (cwd: string, home: string, extra: Record<string, string>) => ({
  ...cleanEnvironment(resolve(cwd, home), extra),
  SVC_HOME: home,
});

/** What doctor says about who commits the writes of a process, and whether it warns. */
function writer(home: string, cwd: string, extra: Record<string, string> = {}): string {
  const { out, errors } = run(['doctor', '--json'], environmentIn(cwd, home, extra), cwd);
  const said = /"local_writes","([^"]*)"/.exec(out)?.[1] ?? errors;
  return out.includes('DAEMON_UNREACHABLE') ? `${said}, though a daemon runs` : said;
}

describe('a home', () => {
  it('is one node however its path is spelled', async (t) => {
    const top = temporaryFolder('one-home');
    const home = join(top, 'home');
    mkdirSync(home);
    const link = join(top, 'link');
    symlinkSync(home, link);
    const serve = await startDaemonProcess(link, await freePort());
    t.after(() => serve.end('SIGKILL'));
    const spelled = [home, `${home}/`, link, `${home}/../link`, relative(top, home)];
    for (const each of spelled) {
      // A machine with much else to do may let one look run out of time.
      const said: string[] = [];
      while (said.at(-1) !== 'the daemon' && said.length < 3) said.push(writer(each, top));
      assert.equal(said.at(-1), 'the daemon', each);
    }
    const other = { SVC_DB: join(home, 'mnemesh.db') };
    assert.equal(writer(join(top, 'other'), top, other), 'each process by itself, though a daemon runs');
  });

  it('may have a path that is longer than the name of a socket', async (t) => {
    const top = temporaryFolder('long-home');
    const home = join(top, 'a'.repeat(120), 'home');
    mkdirSync(home, { recursive: true });
    const serve = await startDaemonProcess(home, await freePort());
    t.after(() => serve.end('SIGKILL'));
    assert.equal(writer(home, top), 'the daemon', serve.errors());
    await serve.end('SIGTERM');
    const left = readdirSync(home).filter((name) => name.endsWith('.sock'));
    assert.deepEqual(left, []);
    assert.equal(writer(home, top), 'each process by itself');
  });
});

describe('the folder of the user', () => {
  it('is that of the account where HOME is empty', () => {
    const usual = process.env['HOME'];
    process.env['HOME'] = '';
    try {
      assert.equal(absolutePath('~/.mnemesh'), join(userInfo().homedir, '.mnemesh'));
    } finally {
      if (usual === undefined) delete process.env['HOME'];
      else process.env['HOME'] = usual;
    }
  });

  it('has no database that a command only reads: a name without one is an error, and nothing is made', () => {
    const home = temporaryFolder('absent');
    const absent = join(home, 'none', 'x.db');
    for (const command of [
      ['list'],
      ['recall', 'x'],
      ['search', 'x'],
      ['get', 'x'],
      ['archive', 'list'],
      ['stats'],
    ]) {
      const { code, errors } = run(
        [...command, '--db', absent],
        cleanEnvironment(join(home, 'node'), A_FILE),
        home,
      );
      assert.notEqual(code, 0, command.join(' '));
      assert.match(errors, /there is no database/, command.join(' '));
    }
    assert.equal(existsSync(join(home, 'none')), false);
  });

  it('is meant by ~ in the name of the configuration file and of the database', () => {
    const home = temporaryFolder('tilde');
    writeFileSync(join(home, 'c.toml'), '[storage]\ndefault_namespace = "from/file"\n', { mode: 0o600 });
    const env = {
      ...cleanEnvironment(join(home, 'node'), A_FILE),
      HOME: home,
      SVC_CONFIG: '~/c.toml',
      SVC_DB: '~/own.db',
    };
    const stored = run(['store', '-T', 'a', '-c', 'b', '--json'], env, dirname(home));
    assert.equal(stored.code, 0, stored.errors);
    assert.match(stored.out, /from\/file/);
    assert.equal(existsSync(join(home, 'own.db')), true);
    const flagged = run(
      ['config', 'show', '--config', '~/c.toml'],
      { ...env, SVC_CONFIG: '' },
      dirname(home),
    );
    assert.match(flagged.out, /from\/file/, flagged.errors);
  });
});

it('says that a write is on this node only where no daemon waits for the quorum', () => {
  const home = temporaryFolder('quorum-alone');
  mkdirSync(join(home, 'mesh'));
  writeFileSync(join(home, 'mesh', 'quorum.json'), '{"writes":2}', { mode: 0o600 });
  const env = cleanEnvironment(home);
  const words = ['store', '-T', 'a', '-c', 'b'];
  assert.match(run(words, env, home).errors, /on this node only: the quorum is 2/);
  const { out } = run([...words.slice(0, 2), 'c', ...words.slice(3), '--json'], env, home);
  assert.match(out, /"quorum_met":false.*"durability":"local"/s);
});
