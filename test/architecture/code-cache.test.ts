import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { temporaryFolder } from '../support/daemon-process.js';

const DIST = fileURLToPath(new URL('../../', import.meta.url));
const CLI = join(DIST, 'cli');
const FILES = ['main.js', 'program.js', 'program.code'];

interface Scripts {
  readonly ENTRIES: readonly string[];
  scriptOf(entry: string): string;
  codeOf(script: string): string;
  longFlag(): string | null;
}
const load = (file: string) => import(pathToFileURL(join(DIST, '..', file)).href);
const scripts = (await load('cli/dev/code-cache.mjs')) as Scripts;
const { LIBRARIES } = (await load('cli/dev/bundle.mjs')) as { LIBRARIES: readonly { file: string }[] };

/** They start where a server or a model is, which the build has not. */
const UNRECORDED = ['node/semantics/onnx/onnx-thread.js', 'storage/postgres/postgres-thread.js'];

/** Whether the Node that runs this takes the code of a script, each in a process that compiled nothing before. */
function isTaken(script: string, code: string, flags: readonly string[]): boolean {
  const text = `
    const fs = require('fs');
    const [, script, code] = process.argv;
    const taken = new (require('vm').Script)(fs.readFileSync(script, 'latin1'), { cachedData: fs.readFileSync(code) });
    process.stdout.write(String(taken.cachedDataRejected));`;
  const paths = [script, code].map((path) => join(DIST, path));
  return (
    spawnSync(process.execPath, [...flags, '-e', text, ...paths], { encoding: 'utf8' }).stdout === 'false'
  );
}

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
  it('is taken by the Node that built it: for commands, and for each long command, thread and library', () => {
    const flag = scripts.longFlag();
    const long = flag === null ? [] : [flag];
    assert.ok(isTaken('cli/program.js', 'cli/program.code', []));
    const threads = scripts.ENTRIES.slice(1).filter((entry) => !UNRECORDED.includes(entry));
    assert.equal(threads.length, scripts.ENTRIES.length - 1 - UNRECORDED.length);
    const pairs = [
      ['cli/program.js', 'cli/serve.code'],
      ['cli/program.js', 'cli/mcp.code'],
      ...[...threads.map(scripts.scriptOf), ...LIBRARIES.map(({ file }) => file)].map((script) => [
        script,
        scripts.codeOf(script),
      ]),
    ] as [string, string][];
    for (const [script, code] of pairs) assert.ok(isTaken(script, code, long), code);
    for (const entry of UNRECORDED) assert.ok(existsSync(join(DIST, scripts.scriptOf(entry))), entry);
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

  it('loads no operation that nobody asked for, and knows of each what its declaration says', async () => {
    const { OPERATIONS } = await import('../../node/operations/registry.js');
    const { generatedTables } = (await load('cli/dev/generated-tables.mjs')) as {
      generatedTables(dist: string): Promise<Map<string, string>>;
    };
    const tables = await generatedTables(join(DIST, '.'));
    const text = tables.get(join(DIST, 'node/operations/registry.js'))!;
    const asked: string[] = [];
    const require = (file: string) => {
      asked.push(file);
      return new Proxy({}, { get: () => OPERATIONS[0] });
    };
    const made = new Function('require', `${text.replace('export const', 'const')}; return OPERATIONS;`)(
      require,
    ) as typeof OPERATIONS;
    const told = (operations: typeof OPERATIONS) =>
      operations.map(({ name, family, summary, effect, guards, http }) => [
        { name, family, summary, effect, guards },
        http?.map(({ method, path, fields, aliases }) => ({ method, path, fields, aliases })),
      ]);
    assert.deepEqual(told(made), told(OPERATIONS));
    assert.deepEqual(asked, []);
    assert.equal(made[0]!.input, OPERATIONS[0]!.input);
    assert.equal(asked.length, 1);
  });
});
