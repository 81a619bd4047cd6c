import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../support/daemon-process.js';

const PROJECT = join(import.meta.dirname, '../../..');

const INSTALL = "const { install } = await import('./cli/dev/install.mjs'); await (await install()).native;";

/** A clone without dependencies, and what its installation writes when npm behaves as the program says. */
function started(npm: string): { readonly status: number | null; readonly lines: readonly string[] } {
  const folder = temporaryFolder('clone');
  for (const file of ['package.json', 'package-lock.json', 'cli/dev'])
    cpSync(join(PROJECT, file), join(folder, file), { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  const program = join(folder, 'npm.js');
  writeFileSync(program, npm.replaceAll('FOLDER', JSON.stringify(folder)));
  const { status, stderr, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', INSTALL], {
    cwd: folder,
    env: { ...process.env, npm_execpath: program },
    encoding: 'utf8',
  });
  assert.equal(stdout, '');
  return { status, lines: stderr.trimEnd().split('\n') };
}

const NOISE = "for (let i = 0; i < 40; i += 1) console.error('npm error line ' + i);";

describe('the installation of a clone', () => {
  it('says in two lines that the registry cannot be reached, and where the rest is', () => {
    const { status, lines } = started(
      `console.error('npm error code ENOTFOUND\\nnpm error request to https://registry failed, reason: getaddrinfo ENOTFOUND registry'); ${NOISE} process.exit(1);`,
    );
    assert.equal(status, 1);
    assert.deepEqual(lines.slice(0, 1), ['installing dependencies …']);
    assert.match(
      lines[1]!,
      /^the dependencies could not be installed: request to https:\/\/registry failed, reason: getaddrinfo ENOTFOUND registry\.$/,
    );
    assert.match(lines[2]!, /^To do: connect to the npm registry .+\.build-install\.log$/);
    assert.equal(lines.length, 3);
  });

  it('takes the lockfile less strictly where npm refuses it', () => {
    const { lines } = started(
      `if (process.argv[2] === 'ci') { console.error('npm error code EUSAGE'); process.exit(1); } console.error('npm error no ' + process.argv.slice(2).join(' ')); process.exit(1);`,
    );
    assert.match(
      lines.at(-2)!,
      /could not be installed: no install --no-save --ignore-scripts --include=dev\.$/,
    );
  });

  for (const [missing, remedy] of [
    ['gyp ERR! stack Error: not found: make', /install make and a C\+\+ compiler/],
    ['gyp ERR! find Python Could not find any Python installation to use', /install Python 3/],
    ['make: g++: No such file or directory', /install a C\+\+ compiler/],
    [
      'gyp http GET https://nodejs.org/download/release/v1/node-v1-headers.tar.gz',
      /reach github\.com or nodejs\.org/,
    ],
    ['something else', /see what npm wrote/],
  ] as const) {
    it(`says in two lines what SQLite lacks: ${missing}`, () => {
      const { status, lines } = started(
        `if (process.argv[2] === 'run') { console.error(${JSON.stringify(missing)}); ${NOISE} process.exit(1); }`,
      );
      assert.equal(status, 1);
      const told = lines.filter(
        (line) => !line.startsWith('…') && !/^(installing|fetching|building)/.test(line),
      );
      assert.equal(told.length, 2, lines.join('\n'));
      assert.match(
        told[0]!,
        /^SQLite's native part could be neither fetched nor compiled for Node v[\d.]+\.$/,
      );
      assert.match(told[1]!, remedy);
    });
  }
});
