import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { VERSION } from '../../node/version.js';
import {
  cleanEnvironment,
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';

const PROJECT = join(import.meta.dirname, '../../..');
const TSC = join(PROJECT, 'node_modules/typescript/bin/tsc');

/** Strict, and without the types of any platform. */
const OPTIONS = {
  ...{ target: 'ES2022', lib: ['ES2022'], types: [], strict: true, skipLibCheck: false, noEmitOnError: true },
  ...{
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
  },
};

/** A folder with the files of the package that `mnemesh/client` needs, as npm would put them. */
function folderWithClient(): string {
  const folder = temporaryFolder('client');
  const installed = join(folder, 'node_modules/mnemesh');
  const { files } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { files: string[] };
  for (const file of ['package.json', ...files.filter((each) => each.startsWith('dist/client/'))]) {
    mkdirSync(dirname(join(installed, file)), { recursive: true });
    cpSync(join(PROJECT, file), join(installed, file));
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  cpSync(join(PROJECT, 'fixtures/client/program.ts'), join(folder, 'program.ts'));
  return folder;
}

function compile(folder: string, options: Readonly<Record<string, unknown>>): void {
  const config = { compilerOptions: { ...OPTIONS, outDir: 'out', ...options }, files: ['program.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', folder], { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
}

describe('the client in the package', () => {
  const folder = folderWithClient();
  const home = temporaryFolder('client-home');
  let daemon: DaemonProcess;
  before(async () => {
    daemon = await startDaemonProcess(home, await freePort());
  });
  after(() => daemon.end('SIGTERM'));

  it('compiles where a bundler resolves modules, and beside the types of a browser', () => {
    compile(folder, { module: 'ESNext', moduleResolution: 'Bundler' });
    compile(folder, {
      module: 'ESNext',
      moduleResolution: 'Bundler',
      lib: ['ES2022', 'DOM', 'DOM.Iterable'],
    });
  });

  it('lets a program that was compiled against its types alone work with a daemon', () => {
    compile(folder, { module: 'NodeNext', moduleResolution: 'NodeNext' });
    const seed = Buffer.from([...Array(32).keys()]).toString('base64');
    const args = [join(folder, 'out/program.js'), daemon.base.replace('/api/v1', ''), seed];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      env: cleanEnvironment(home),
    });
    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');
    const { toon, deleted, ...seen } = JSON.parse(stdout) as Record<string, unknown>;
    assert.match(String(toon), /Deploy window/);
    assert.equal((deleted as { deleted: boolean }).deleted, true);
    assert.deepEqual(seen, {
      ...{ status: 'ok', version: VERSION, tier: 'long', signature: 88 },
      codes: ['VERSION_CONFLICT 409 false', 'NOT_FOUND 404 false', 'ADMIN_REQUIRED 403 false'],
      ...{ title: 'Deploy window', listed: 1, updated: ['Saturdays', 2] },
    });
  });
});
