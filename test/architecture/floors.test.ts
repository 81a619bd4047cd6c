import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourceFiles } from './source-files.js';

/** What each floor may import (design: architecture, "Floors"). */
const FLOORS: Readonly<Record<string, { readonly folders: readonly string[]; readonly packages: RegExp }>> = {
  protocol: { folders: ['protocol'], packages: /^(zod|@noble\/.*)$/ },
  storage: { folders: ['storage', 'protocol'], packages: /^(node:.*|better-sqlite3|pg|zod)$/ },
  actors: { folders: ['actors', 'storage', 'protocol'], packages: /^(xstate)$/ },
  node: { folders: ['node', 'actors', 'storage', 'protocol'], packages: /.*/ },
  // Its packages are built into its files; of the node it has the client, and nothing that needs Node.
  console: {
    folders: ['console', 'node/client'],
    packages:
      /^(preact(\/hooks)?|@preact\/signals|sigma|graphology[\w-]*(\/\w+)?|mnemesh\/client|virtual:routes)$/,
  },
  cli: { folders: ['cli', 'node', 'protocol'], packages: /^(node:.*|citty|zod)$/ },
};

/** Files above the storage floor that may name an engine: the composition root, its threads, and what examines files. */
const ENGINE_USERS = /^node\/(runtime\/|threads\/|doctor\/examine-node\.ts$)/;

/**
 * The floors inside a floor, lowest first: a folder may import itself and the rows before its own, but not its
 * neighbours in its row. '' holds the files that lie in no folder.
 */
const INNER_FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  protocol: [
    ['base'],
    ['ranking', 'log'],
    ['kinds'],
    ['decide'],
    ['jobs'],
    ['identity', 'delegation'],
    ['links'],
    ['memory'],
    ['agents'],
    ['namespaces'],
    ['graph'],
    ['rules', 'confidence'],
    ['messages', 'lifecycle'],
    ['reflections'],
    ['curation'],
    ['personas'],
    ['policies'],
    ['coordination', 'transcripts'],
    ['skills'],
    ['maintenance', 'transfer', 'hooks', 'webhooks', 'models'],
    ['erasure'],
    ['peers'],
    ['wire'],
    ['replication'],
    [''],
  ],
  storage: [[''], ['sql'], ['sqlite'], ['postgres'], ['open'], ['vectors']],
  actors: [
    ['core'],
    ['coordination', 'hooks', 'streams', 'storage', 'jobs', 'maintenance', 'webhooks'],
    ['mesh'],
  ],
  node: [
    [''],
    ['config', 'outbound'],
    ['identity', 'models', 'observability', 'secrets', 'semantics', 'webhooks'],
    ['hooks', 'pipeline', 'threads'],
    ['bindings', 'transfer'],
    ['operations'],
    ['jobs'],
    ['http', 'mcp', 'local'],
    ['client'],
    ['mesh'],
    ['runtime', 'doctor'],
  ],
};

/** The folder of a file inside its floor; '' for a file that lies in none. */
const folderOf = (path: string): string => (path.split('/').length > 2 ? path.split('/')[1]! : '');

describe('floors', () => {
  for (const [floor, { folders, packages }] of Object.entries(FLOORS)) {
    it(`${floor} imports only what lies below it`, () => {
      const wrong: string[] = [];
      for (const file of sourceFiles(floor)) {
        for (const specifier of file.imports) {
          const ok = specifier.startsWith('.')
            ? folders.some((folder) => file.resolve(specifier).startsWith(`${folder}/`))
            : packages.test(specifier);
          if (!ok) wrong.push(`${file.path} imports ${specifier}`);
        }
      }
      assert.deepEqual(wrong, []);
    });
  }

  for (const [floor, rows] of Object.entries(INNER_FLOORS)) {
    const heightOf = (folder: string) => rows.findIndex((row) => row.includes(folder));

    it(`every folder of ${floor} has its row`, () => {
      const folders = new Set(sourceFiles(floor).map(({ path }) => folderOf(path)));
      assert.deepEqual(
        [...folders].filter((folder) => heightOf(folder) === -1),
        [],
      );
    });

    it(`the folders of ${floor} import only what lies below them, types included`, () => {
      const wrong = sourceFiles(floor).flatMap((file) =>
        file.imports
          .filter((specifier) => specifier.startsWith('.') && file.resolve(specifier).startsWith(`${floor}/`))
          .filter((specifier) => {
            const [from, to] = [folderOf(file.path), folderOf(file.resolve(specifier))];
            return from !== to && heightOf(from) <= heightOf(to);
          })
          .map((specifier) => `${file.path} imports ${specifier}`),
      );
      assert.deepEqual(wrong, []);
    });
  }

  it('actors use the port of storage and no engine', () => {
    const wrong = sourceFiles('actors').flatMap((file) =>
      file.imports
        .filter((specifier) => specifier.startsWith('.') && file.resolve(specifier).startsWith('storage/'))
        .filter((specifier) => file.resolve(specifier) !== 'storage/port')
        .map((specifier) => `${file.path} imports ${specifier}`),
    );
    assert.deepEqual(wrong, []);
  });

  it('only the composition root chooses an engine', () => {
    const wrong = [...sourceFiles('node'), ...sourceFiles('cli')]
      .filter((file) => !ENGINE_USERS.test(file.path))
      .flatMap((file) =>
        file.valueImports
          .filter(
            (specifier) =>
              specifier.startsWith('.') &&
              /^storage\/(sql|sqlite|postgres|open)\//.test(file.resolve(specifier)),
          )
          .map((specifier) => `${file.path} imports ${specifier}`),
      );
    assert.deepEqual(wrong, []);
  });

  it('no SQL stands above the storage floor', () => {
    const sql = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE)\s+[\w*@(]/;
    const wrong = ['protocol', 'actors', 'node', 'cli']
      .flatMap((floor) => sourceFiles(floor))
      .filter((file) => sql.test(file.code))
      .map((file) => file.path);
    assert.deepEqual(wrong, []);
  });

  it('files stay small enough to be read in one go', () => {
    const long = Object.keys(FLOORS)
      .flatMap((floor) => sourceFiles(floor))
      .filter((file) => file.lines > 500 && !/kernel-bytes|stop-words/.test(file.path))
      .map((file) => `${file.path}: ${file.lines} lines`);
    assert.deepEqual(long, []);
  });
});
