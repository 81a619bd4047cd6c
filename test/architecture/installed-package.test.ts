import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cleanEnvironment, temporaryFolder } from '../support/daemon-process.js';
import { untilAnswer } from '../support/wait.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';
import { sourceFiles } from './source-files.js';

const PROJECT = join(import.meta.dirname, '../../..');
const read = (file: string) => JSON.parse(readFileSync(join(PROJECT, file), 'utf8'));
const { files: FILES } = read('package.json') as { files: string[] };

interface Locked {
  readonly dev?: boolean;
  readonly os?: readonly string[];
}

/** Lays out the package as a user has it: the files that it names, and the packages that it depends on at run time. */
function installedPackage(): { readonly folder: string; readonly packages: readonly string[] } {
  const folder = temporaryFolder('package');
  for (const file of ['package.json', ...FILES.filter((each) => !each.includes('*'))])
    cpSync(join(PROJECT, file), join(folder, file), { recursive: true });
  const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };
  const used = Object.entries(packages)
    .filter(([path, { dev, os }]) => path !== '' && dev !== true && os === undefined)
    .map(([path]) => path)
    .filter((path) => existsSync(join(PROJECT, path)));
  // A nested package comes with the folder of the package that holds it.
  for (const path of used.filter((each) => each.split('node_modules/').length === 2)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    symlinkSync(join(PROJECT, path), join(folder, path));
  }
  return { folder, packages: used };
}

const HOME = temporaryFolder('package-home');

const start = (folder: string, words: readonly string[], flags: readonly string[] = []) =>
  spawnSync(process.execPath, [...flags, join(folder, 'dist/cli/main.js'), ...words], {
    encoding: 'utf8',
    env: cleanEnvironment(HOME),
  });

describe('the installed package', () => {
  it('serves MCP without a server framework of the SDK, and finds by meaning', async () => {
    const { folder, packages } = installedPackage();
    for (const framework of ['@modelcontextprotocol/sdk', 'express', 'hono', 'ajv'])
      assert.ok(!packages.includes(`node_modules/${framework}`), framework);
    const main = join(folder, 'dist/cli/main.js');
    const server = new McpProcess({ main, env: { SVC_EMBED_BACKEND: 'builtin' } });
    const params = {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    assert.ok((await server.request(1, 'initialize', params)).result !== undefined, server.errors);
    const note = { title: 'Deploy window', content: 'Sundays, 02:00 to 04:00 UTC' };
    assert.match(textOf(await server.call(2, 'memory_store', note)), /"title":"Deploy window"/);
    const asked = { context: 'when may we deploy?', format: 'json' };
    let id = 2;
    const recall = async () => {
      id += 1;
      return JSON.parse(textOf(await server.call(id, 'memory_recall', asked)));
    };
    const found = await untilAnswer('the memory has its vector', recall, ({ mode }) => mode === 'hybrid');
    assert.equal(found.memories[0].title, 'Deploy window');
    assert.equal(await server.end(), 0);
  });

  it('has every file that the program starts or reads beside its code, and no folder of the build', async () => {
    const load = (file: string) => import(pathToFileURL(join(PROJECT, file)).href);
    const { ENTRIES, scriptOf } = (await load('cli/dev/code-cache.mjs')) as {
      ENTRIES: string[];
      scriptOf(entry: string): string;
    };
    const { LIBRARIES } = (await load('cli/dev/bundle.mjs')) as { LIBRARIES: { file: string }[] };
    const { ASSETS, COPIED } = (await load('cli/dev/build.mjs')) as {
      ASSETS: string[];
      COPIED: Record<string, string>;
    };
    const beside = ['protocol', 'storage', 'actors', 'node', 'cli']
      .flatMap((floor) => sourceFiles(floor))
      .flatMap(({ path, code }) =>
        [...code.matchAll(/new URL\('(\.[^']+\.\w+)', import\.meta\.url\)/g)].map(([, name]) =>
          posix.join(posix.dirname(path), name!),
        ),
      );
    assert.ok(beside.length >= 6, String(beside));
    const scripts = [...ENTRIES.map(scriptOf), ...LIBRARIES.map(({ file }) => file)];
    const compiled = readdirSync(join(PROJECT, 'dist'), { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.code'),
    );
    assert.ok(compiled.length > LIBRARIES.length, String(compiled));
    const code = [...ENTRIES, ...scripts, ...compiled];
    for (const path of [...code, ...ASSETS, ...Object.keys(COPIED), ...beside])
      assert.ok(FILES.includes(`dist/${path}`), `"files" of package.json does not name dist/${path}`);
    // What the console's builder names by their hashes has a folder of its own, with nothing else in it.
    for (const file of FILES.filter((each) => each.startsWith('dist') && each !== 'dist/console/assets'))
      assert.match(
        file,
        /\.(js|cjs|code|bin|wasm|h|html|css|d\.ts)$|LICENSE(\.txt)?$|NOTICE(S\.txt)?$/,
        file,
      );
  });

  it('depends on the packages that its files load, and on no other', () => {
    const texts = FILES.filter((file) => /^dist\/.*\.c?js$/.test(file))
      // A page loads nothing, and the folder `onnx` of the home is no dependency of the package.
      .filter((file) => !/^dist\/(client|node\/http)\/|onnx-thread/.test(file))
      .map((file) => readFileSync(join(PROJECT, file), 'utf8'));
    const required = texts.flatMap((text) =>
      [...text.matchAll(/\brequire\d*\(["']((?:@[\w.-]+\/)?[\w.:-]+)/g)].map(([, name]) => name!),
    );
    const packages = new Set(required.filter((name) => !isBuiltin(name) && !/^(\.|node:)/.test(name)));
    const { dependencies, optionalDependencies } = read('package.json');
    assert.deepEqual([...packages].sort(), Object.keys({ ...dependencies, ...optionalDependencies }).sort());
  });

  it('carries the notices of what is built in', () => {
    const notices = readFileSync(join(PROJECT, 'dist/NOTICES.txt'), 'utf8');
    assert.ok(FILES.includes('dist/NOTICES.txt'));
    for (const name of [
      'zod',
      'xstate',
      'undici',
      'preact',
      'graphology-layout-forceatlas2',
      '@modelcontextprotocol/sdk',
    ])
      assert.match(notices, new RegExp(`^${name} \\d`, 'm'));
    assert.match(notices, /Copyright \(c\) 2025 Colin McDonnell/);
  });

  it('says in two lines that the native part of SQLite is missing or cannot be loaded, and what mends it', () => {
    const { folder } = installedPackage();
    const native = join(folder, 'node_modules/better-sqlite3');
    rmSync(native);
    const left = start(folder, ['store', '--title', 'a', '--content', 'b']);
    assert.equal(left.status, 78, left.stderr);
    assert.match(
      left.stderr,
      /^error: the native part of SQLite was neither fetched [^\n]+ nor compiled [^\n]+\nrun: npm install --prefix [^\n]+ --ignore-scripts && [^\n]*npm run install --prefix [^\n]+better-sqlite3\n$/,
    );
    cpSync(join(PROJECT, 'node_modules/better-sqlite3/package.json'), join(native, 'package.json'));
    const binary = join(native, 'build/Release/better_sqlite3.node');
    mkdirSync(dirname(binary), { recursive: true });
    writeFileSync(binary, 'no library');
    for (const words of [['recall', 'x'], ['serve', '--port', '1'], ['doctor'], ['backup', '--to', folder]]) {
      const { status, stderr, stdout } = start(folder, words);
      assert.equal(status, 78, `${words[0]}: ${stderr}${stdout}`);
      assert.match(
        stderr,
        /^error: the native part of SQLite cannot be loaded: [^\n]+\nrun: [^\n]*npm run install --prefix [^\n]+better-sqlite3\n$/,
      );
      assert.doesNotMatch(stdout, /damaged/);
    }
  });

  it('says to an older Node that it is too old, in words that Node 12 understands', async () => {
    const oldest = '20.19';
    const as = (version: string) => [
      '--import',
      `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`,
    ];
    const [major, minor] = oldest.split('.').map(Number) as [number, number];
    for (const version of ['12.22.12', `${major}.${minor - 1}.9`]) {
      const { status, stderr, stdout } = start(PROJECT, ['--version'], as(version));
      assert.deepEqual([status, stdout], [78, '']);
      assert.match(stderr, new RegExp(`^mnemesh needs Node ${oldest} or newer, [^\\n]+\\n[^\\n]+\\n$`));
    }
    assert.equal(start(PROJECT, ['--version'], as(`${major}.${minor}.0`)).status, 0);
    const { transform, stop } = await import('esbuild');
    const text = readFileSync(join(PROJECT, 'dist/cli/main.js'), 'utf8');
    await transform(text, { target: 'node12.17', format: 'esm' });
    await stop();
    assert.doesNotMatch(text, /'node:|import \{/);
  });
});
