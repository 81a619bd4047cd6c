import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { onPostgres } from '../../support/test-store.js';
import { run } from './cli-process.js';

const KEY = 'a-key-of-more-than-16-characters';

/** A home with a database and a configuration file that holds the API key, all with private modes. */
async function privateHome(): Promise<{
  readonly home: string;
  readonly config: string;
  readonly db: string;
}> {
  const home = temporaryFolder('l5');
  const config = join(home, 'config.toml');
  writeFileSync(config, `api_key = "${KEY}"\n`, { mode: 0o600 });
  const stored = await run(home, ['store', '-T', 'a', '-c', 'b']);
  assert.equal(stored.code, 0, stored.err);
  return { home, config, db: join(home, 'mnemesh.db') };
}

const codesIn = (lines: string) =>
  lines
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { code?: string }).code)
    .filter((code) => code !== undefined);

async function warningsOfServe(home: string): Promise<string[]> {
  const daemon = await startDaemonProcess(home, await freePort());
  assert.equal(await daemon.end('SIGTERM'), 0, daemon.errors());
  return codesIn(daemon.errors());
}

describe('loose modes', () => {
  it('of the home, the database and the configuration file: serve and mcp warn of each once at the start', {
    timeout: 120_000,
  }, async () => {
    const { home, config, db } = await privateHome();
    assert.deepEqual(await warningsOfServe(home), []);
    chmodSync(home, 0o777);
    if (!onPostgres) chmodSync(db, 0o666);
    chmodSync(config, 0o640);
    const ofFile = (code: string) => (onPostgres ? [] : [code]);
    const expected = ['HOME_WRITABLE', ...ofFile('DB_FILE_WRITABLE'), 'CONFIG_FILE_READABLE'];
    assert.deepEqual(await warningsOfServe(home), expected);
    assert.deepEqual(codesIn((await run(home, ['mcp'])).err), expected);
    chmodSync(home, 0o755);
    if (!onPostgres) chmodSync(db, 0o640);
    chmodSync(config, 0o660);
    assert.deepEqual(await warningsOfServe(home), [
      'HOME_READABLE',
      ...ofFile('DB_FILE_READABLE'),
      'CONFIG_FILE_WRITABLE',
    ]);
    const listed = await run(home, ['list']);
    assert.deepEqual([listed.code, listed.err], [0, ''], 'a command that ends at once says nothing');
  });

  it('a configuration file that every user may write is refused, with what to do, and read again after that', async () => {
    const { home, config } = await privateHome();
    for (const mode of [0o666, 0o602, 0o777]) {
      chmodSync(config, mode);
      for (const args of [['serve', '--port', '0'], ['mcp'], ['list']]) {
        const refused = await run(home, [...args, '--json']);
        assert.equal(refused.code, 78, `${args[0]}: ${refused.err}`);
        const { code, error } = JSON.parse(refused.err) as { code: string; error: string };
        assert.equal(code, 'CONFIG_INVALID');
        assert.ok(error.includes(`chmod 600 ${config}`), error);
        assert.ok(!error.includes(KEY));
      }
    }
    const doctor = await run(home, ['doctor', '--json']);
    assert.equal(doctor.out.match(/CONFIG_FILE_WRITABLE/g)?.length, 1, doctor.out);
    chmodSync(config, 0o600);
    assert.equal((await run(home, ['list'])).code, 0);
  });

  it('of the file of hooks, a program and its folder: serve warns, and so does doctor', async () => {
    const { home } = await privateHome();
    const folder = join(home, 'programs');
    mkdirSync(folder, { mode: 0o700 });
    const program = join(folder, 'guard.sh');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    const link = join(home, 'guard');
    symlinkSync(program, link);
    const hooks = join(home, 'hooks.toml');
    const entry = ['event = "pre_store"', `command = "${link}"`, 'priority = 0', 'timeout_ms = 1000'];
    writeFileSync(hooks, ['[[hook]]', ...entry, 'enabled = true', 'namespace = "*"', ''].join('\n'), {
      mode: 0o600,
    });
    assert.deepEqual(await warningsOfServe(home), []);
    chmodSync(hooks, 0o664);
    chmodSync(program, 0o775);
    chmodSync(folder, 0o777);
    const codes = ['HOOKS_FILE_WRITABLE', 'HOOK_PROGRAM_WRITABLE', 'HOOK_FOLDER_WRITABLE'];
    assert.deepEqual(await warningsOfServe(home), codes);
    const doctor = await run(home, ['doctor', '--json']);
    for (const code of codes) assert.ok(doctor.out.includes(code), code);
  });

  it('what is no file may have any mode', async () => {
    const { home, config } = await privateHome();
    rmSync(config);
    const listed = await run(home, ['list'], { env: { SVC_CONFIG: '/dev/null' } });
    assert.equal(listed.code, 0, listed.err);
  });
});
