import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourceFiles } from './source-files.js';

/** What each floor may import (design: architecture, "Floors"). */
const FLOORS: Readonly<Record<string, { readonly folders: readonly string[]; readonly packages: RegExp }>> = {
  protocol: { folders: ['protocol'], packages: /^(zod|@noble\/.*)$/ },
  storage: { folders: ['storage', 'protocol'], packages: /^(node:.*|better-sqlite3|zod)$/ },
  actors: { folders: ['actors', 'storage', 'protocol'], packages: /^(xstate)$/ },
  node: { folders: ['node', 'actors', 'storage', 'protocol'], packages: /.*/ },
  cli: { folders: ['cli', 'node', 'protocol'], packages: /^(node:.*|citty|zod)$/ },
};

/** Files above the storage floor that may name an engine: the composition root, its threads and the embedder of both. */
const ENGINE_USERS = /^node\/(runtime|threads)\//;

describe('floors', () => {
  for (const [floor, { folders, packages }] of Object.entries(FLOORS)) {
    it(`${floor} imports only what lies below it`, () => {
      const wrong: string[] = [];
      for (const file of sourceFiles(floor)) {
        for (const specifier of file.imports) {
          const ok = specifier.startsWith('.')
            ? folders.includes(file.resolve(specifier).split('/')[0]!)
            : packages.test(specifier);
          if (!ok) wrong.push(`${file.path} imports ${specifier}`);
        }
      }
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
            (specifier) => specifier.startsWith('.') && file.resolve(specifier).startsWith('storage/sqlite/'),
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
