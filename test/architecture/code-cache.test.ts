import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { temporaryFolder } from '../support/daemon-process.js';

const CLI = fileURLToPath(new URL('../../cli/', import.meta.url));
const FILES = ['main.js', 'program.js', 'program.code'];

/** A copy of the program, which a test may damage. */
function copied(): string {
  const folder = temporaryFolder('code-cache');
  // The place of an ECMAScript module says what it is.
  cpSync(fileURLToPath(new URL('../../../package.json', import.meta.url)), join(folder, 'package.json'));
  for (const name of FILES) cpSync(join(CLI, name), join(folder, 'cli', name));
  return folder;
}

const version = (folder: string, flags: readonly string[] = []) =>
  spawnSync(process.execPath, [...flags, join(folder, 'cli/main.js'), '--version'], { encoding: 'utf8' });

describe('the compiled code of the program', () => {
  it('is taken by the Node that built it', () => {
    const script = new Script(readFileSync(join(CLI, 'program.js'), 'utf8'), {
      cachedData: readFileSync(join(CLI, 'program.code')),
    });
    assert.equal(script.cachedDataRejected, false);
  });

  it('is not needed: without it, with half of it, or under other flags the program runs the same', () => {
    const folder = copied();
    const expected = version(folder);
    assert.equal(expected.status, 0, expected.stderr);
    assert.match(expected.stdout, /\d+\.\d+/);
    const same = (answer: ReturnType<typeof version>) =>
      assert.deepEqual([answer.status, answer.stdout], [0, expected.stdout], answer.stderr);
    same(version(folder, ['--stack-size=900', '--no-opt']));
    truncateSync(join(folder, 'cli/program.code'), 100_000);
    same(version(folder));
    truncateSync(join(folder, 'cli/program.code'), 0);
    same(version(folder));
    rmSync(join(folder, 'cli/program.code'));
    same(version(folder));
  });
});
