import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { circlesOf } from './circles-of.js';
import { sourceFiles } from './source-files.js';

const FLOORS = ['protocol', 'storage', 'actors', 'node', 'cli', 'console'];

/** What each file imports of the project: values, types, and what is loaded when it is used. */
const imports = new Map(
  FLOORS.flatMap((floor) => sourceFiles(floor)).map((file) => [
    file.path.replace(/\.tsx?$/, ''),
    file.imports.filter((specifier) => specifier.startsWith('.')).map((specifier) => file.resolve(specifier)),
  ]),
);

describe('import circles', () => {
  it('are found, also over several files and next to other imports', () => {
    const graph = new Map([
      ['a', ['b', 'd']],
      ['b', ['c']],
      ['c', ['a']],
      ['d', ['d2']],
      ['d2', []],
      ['e', ['f', 'a']],
      ['f', ['e']],
    ]);
    assert.deepEqual(circlesOf(graph), [
      ['a', 'b', 'c'],
      ['e', 'f'],
    ]);
  });

  it('stand nowhere between the source files, types included', () => {
    assert.deepEqual(circlesOf(imports), []);
  });
});
