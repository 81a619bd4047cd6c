import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { circlesOf } from './circles-of.js';
import { sourceFiles } from './source-files.js';

const FLOORS = ['protocol', 'storage', 'actors', 'node', 'cli'];

/** Circles that still stand, by their files; an entry goes when its circle is mended. */
const STANDING: readonly (readonly string[])[] = [
  [
    'protocol/commands',
    'protocol/decide/agent',
    'protocol/decide/decision',
    'protocol/decide/quota',
    'protocol/decide/store',
  ],
  ['protocol/mesh/repair-terms', 'protocol/mesh/store-terms'],
  [
    'node/config/rows-later',
    'node/config/rows-life',
    'node/config/rows-mesh',
    'node/config/rows-models',
    'node/config/settings',
  ],
  ['node/config/section-secret', 'node/config/setting-value'],
];

/** What each file imports of the project: values, types, and what is loaded when it is used. */
const imports = new Map(
  FLOORS.flatMap((floor) => sourceFiles(floor)).map((file) => [
    file.path.replace(/\.ts$/, ''),
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
    const isKnown = (circle: readonly string[]) =>
      STANDING.some((files) => circle.every((file) => files.includes(file)));
    assert.deepEqual(
      circlesOf(imports).filter((circle) => !isKnown(circle)),
      [],
    );
  });
});
