import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loadSettings } from '../../../node/config/load-settings.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { commandsIn } from './cli-process.js';

describe('init', { timeout: 60_000 }, () => {
  it('writes a configuration that is taken without a problem, once', async () => {
    const home = temporaryFolder('init');
    const cli = commandsIn(home);
    const { code, out } = await cli('init', '--yes', '--json');
    assert.equal(code, 0);
    const path = join(home, 'config.toml');
    assert.equal((JSON.parse(out) as { path: string }).path, path);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const problems: unknown[] = [];
    const settings = loadSettings({ home }, { env: {}, report: (problem) => problems.push(problem) });
    assert.deepEqual(problems, []);
    assert.deepEqual([settings.port, settings.embedBackend, settings.logToFiles], [9077, 'builtin', false]);
    const before = readFileSync(path, 'utf8');
    const again = await cli('init', '--yes');
    assert.equal(again.code, 1);
    assert.match(again.err, /is there already/);
    assert.equal(readFileSync(path, 'utf8'), before);
  });

  it('asks nobody without a terminal', async () => {
    const { code, err } = await commandsIn(temporaryFolder('init-asks'))('init');
    assert.equal(code, 2);
    assert.match(err, /give --yes/);
  });
});
