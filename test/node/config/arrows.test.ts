import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourceFiles } from '../../architecture/source-files.js';

const FOLDER = 'node/config';
const files = sourceFiles(FOLDER);
/** What each file imports of the project, imports of types included. */
const imports = new Map(
  files.map((file) => [
    file.path.replace(/\.ts$/, ''),
    file.imports.filter((specifier) => specifier.startsWith('.')).map(file.resolve),
  ]),
);

describe('the imports of node/config', () => {
  it('go to no other folder of node', () => {
    const wrong = [...imports].flatMap(([from, targets]) =>
      targets
        .filter((target) => /^node\/.+\//.test(target) && !target.startsWith(`${FOLDER}/`))
        .map((target) => `${from} imports ${target}`),
    );
    assert.deepEqual(wrong, []);
  });

  it('make no circle, not even of types', () => {
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' > '));
      if (done.has(file) || path.includes(file)) return;
      for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
      done.add(file);
    };
    for (const file of imports.keys()) visit(file, []);
    assert.deepEqual(circles, []);
    assert.ok([...imports.values()].flat().includes(`${FOLDER}/setting-row`), 'the imports are found');
  });
});
