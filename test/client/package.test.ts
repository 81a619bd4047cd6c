import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createClient } from '../../node/client/index.js';
import { VERSION } from '../../node/version.js';
import {
  cleanEnvironment,
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { agentKey } from '../support/signing.js';

const PROJECT = join(import.meta.dirname, '../../..');
const ADMIN = 'human:admin';
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

/** Compiles the program of the fixture, or other files of the folder. */
function compile(
  folder: string,
  options: Readonly<Record<string, unknown>>,
  files: readonly string[] = ['program.ts'],
): void {
  const config = { compilerOptions: { ...OPTIONS, outDir: 'out', ...options }, files };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', folder], { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
}

describe('the client in the package', () => {
  const folder = folderWithClient();
  const home = temporaryFolder('client-home');
  let daemon: DaemonProcess;
  before(async () => {
    daemon = await startDaemonProcess(home, await freePort(), {
      ...{ SVC_ADMIN_AGENT_IDS: ADMIN, SVC_ADMIN_HEADER_TRUST: '1' },
    });
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

  it('works as its page shows', async () => {
    const page = readFileSync(join(PROJECT, 'docs/client.md'), 'utf8');
    const programs = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
    assert.equal(programs.length, 3);
    const url = daemon.base.replace('/api/v1', '');
    symlinkSync(join(PROJECT, 'node_modules/@types'), join(folder, 'node_modules/@types'));
    symlinkSync(join(PROJECT, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'));
    const files = programs.map((text, index) => {
      const file = `page-${index}.ts`;
      writeFileSync(join(folder, file), text.replaceAll('http://127.0.0.1:9077', url));
      return file;
    });
    const key = agentKey('ai:writer');
    writeFileSync(join(folder, 'ai:writer.priv'), key.seed, { mode: 0o600 });
    compile(folder, { module: 'NodeNext', moduleResolution: 'NodeNext', types: ['node'] }, files);
    const admin = createClient({ url, agentId: ADMIN });
    await admin.call('memory_agent_register', { agent_id: 'ai:writer', agent_type: 'ai:test' });
    await admin.call('agent_bind_key', { id: 'ai:writer', pubkey_b64: key.publicKeyText });
    const outputs = files.map((file) => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [join(folder, 'out', file.replace('.ts', '.js'))],
        { encoding: 'utf8', cwd: folder, env: cleanEnvironment(home) },
      );
      assert.equal(status, 0, `${file}: ${stderr}`);
      return stdout;
    });
    assert.match(outputs[0]!, /^Deploy window 0?\.?\d+/);
    const { signature } = JSON.parse(outputs[1]!) as { signature: string };
    assert.equal(signature.length, 88);
  });
});
