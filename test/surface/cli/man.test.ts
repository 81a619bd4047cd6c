import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { NATIVE_COMMANDS } from '../../../cli/native-commands.js';
import { SETTINGS } from '../../../node/config/settings.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { run } from './cli-process.js';

const home = temporaryFolder('man');
const isHere = (program: string) => spawnSync(program, ['--version']).error === undefined;
const page = async () => (await run(home, ['man'])).out;

describe('man', () => {
  it('prints a page with every command, flag and variable', async () => {
    const { code, out, err } = await run(home, ['man']);
    assert.deepEqual([code, err], [0, '']);
    assert.match(out, /^\.TH MNEMESH 1 /);
    const plain = out.replaceAll('\\-', '-');
    const names = [...OPERATIONS.flatMap(({ cli }) => cli?.command ?? []), ...Object.keys(NATIVE_COMMANDS)];
    const sections = plain.split('\n').flatMap((line) => (line.startsWith('.SS ') ? line.slice(4) : []));
    assert.deepEqual([...sections].sort(), [...names].sort());
    for (const { env } of SETTINGS) if (env !== undefined) assert.ok(plain.includes(`\n.B ${env}\n`), env);
    assert.match(plain, /\n\.SS store\nStore a memory\.\n\.PP\n\.B mnemesh\nstore <content> \[options\]\n/);
    assert.match(plain, /\n\.B -t, --tier <text>\n/);
    assert.deepEqual(JSON.parse((await run(home, ['man', '--json'])).out), { page: out });
  });

  it('has no line that a reader of such pages would take for a request', async () => {
    const macros = new Set((await page()).split('\n').flatMap((line) => /^[.'](\S*)/.exec(line)?.[1] ?? []));
    assert.deepEqual([...macros].sort(), ['B', 'PP', 'SH', 'SS', 'TH', 'TP', 'fi', 'nf']);
    assert.match(await page(), /^[\x20-\x7e\n]*$/);
  });

  it('is read by groff without a warning', {
    skip: isHere('groff') ? false : 'groff is not here',
  }, async () => {
    const words = ['-man', '-ww', '-Tutf8', '-P-cbou'];
    const { status, stdout, stderr } = spawnSync('groff', words, { input: await page(), encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /mnemesh - a memory for agents/);
    assert.match(stdout.replace(/\s+/g, ' '), /mnemesh store "We deploy on Sundays, 02:00 to 04:00 UTC"/);
  });

  it('is shown by man', { skip: isHere('man') ? false : 'man is not here' }, async () => {
    const file = join(home, 'mnemesh.1');
    writeFileSync(file, await page());
    const env = { ...process.env, MANPAGER: 'cat', MANWIDTH: '80', LC_ALL: 'C.UTF-8' };
    const { status, stdout, stderr } = spawnSync('man', ['-l', '--warnings', file], {
      encoding: 'utf8',
      env,
    });
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /RUN A NODE/);
  });
});
