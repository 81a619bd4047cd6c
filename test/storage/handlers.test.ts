import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterThese } from '../../protocol/decide/reads.js';
import { MUTATIONS, READS } from '../../protocol/release.js';
import { engineOf } from '../../storage/sql/engine.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { sourceFiles } from '../architecture/source-files.js';
import { NOW_MS } from '../protocol/decide/answerer.js';
import { openOptions } from './older-databases.js';

/** How often protocol/ declares a read or a mutation. */
const declared = (how: string): number =>
  sourceFiles('protocol').flatMap(({ code }) => code.split(`= ${how}<`).slice(1)).length;

describe('the engine', () => {
  const options = openOptions(':memory:', NOW_MS);
  const { reads, mutations } = engineOf(openDatabase(options), options);

  it('answers each declared read once', () => {
    const names = READS.map(({ read }) => read).sort();
    assert.equal(declared('defineRead'), names.length);
    // The writer itself applies what a rule hands it.
    assert.deepEqual(
      [...reads.handled].sort(),
      names.filter((name) => name !== afterThese.read),
    );
  });

  it('applies each declared mutation once', () => {
    const names = MUTATIONS.map(({ mutation }) => mutation).sort();
    assert.equal(declared('defineMutation'), names.length);
    assert.deepEqual([...mutations.handled].sort(), names);
  });
});
