import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SourceFile, sourceFiles } from './source-files.js';

/** Threads that the first question waits for, and what would take them longer to load than all else that they do. */
const LEAN = ['storage/vectors/vector-thread', 'node/semantics/encoder/encoder-thread'];
const HEAVY = ['zod', 'protocol/release', 'protocol/ranking/words', 'storage/postgres/postgres-connection'];

/** The modules and packages that run when a file is imported, each with one that imports it. */
function loadedBy(path: string, files: ReadonlyMap<string, SourceFile>): ReadonlyMap<string, string> {
  const loaded = new Map([[path, '']]);
  for (const name of loaded.keys()) {
    const file = files.get(name);
    if (file === undefined) continue;
    const later = new Set([...file.code.matchAll(/\bimport\('([^']+)'\)/g)].map((match) => match[1]!));
    for (const specifier of file.valueImports) {
      const imported = specifier.startsWith('.') ? file.resolve(specifier) : specifier;
      if (!later.has(specifier) && !loaded.has(imported)) loaded.set(imported, name);
    }
  }
  return loaded;
}

test('the threads that the first question waits for load little', () => {
  const files = new Map(
    ['protocol', 'storage', 'node'].flatMap((floor) =>
      sourceFiles(floor).map((file) => [file.path.replace(/\.ts$/, ''), file] as const),
    ),
  );
  for (const thread of LEAN) {
    const loaded = loadedBy(thread, files);
    assert.ok(loaded.size > 5, `${thread} was not found`);
    for (const heavy of HEAVY) assert.equal(loaded.get(heavy), undefined, `${thread} loads ${heavy}`);
  }
  // That the search finds what it looks for.
  assert.ok(HEAVY.every((heavy) => loadedBy('node/threads/reader-thread', files).has(heavy)));
});
