import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourceFiles } from './source-files.js';

/** Only this one waits; the others say what for. */
const WAITING = 'test/support/wait.ts';
/** Measures, and fails nothing. */
const BENCH = 'test/bench/';

const files = sourceFiles('test').filter(({ path }) => path !== 'test/architecture/tests.test.ts');
const tests = files.filter(({ path }) => path !== WAITING && !path.startsWith(BENCH));

/** The files whose code has a pattern, in the order of their paths. */
const having = (of: typeof files, pattern: RegExp) =>
  of
    .filter(({ code }) => pattern.test(code))
    .map(({ path }) => path)
    .sort();

describe('a test', () => {
  it('waits for no event without a deadline', () => {
    // A child that this one starts from a text waits for its parent.
    assert.deepEqual(having(tests, /\bawait once\(/), ['test/storage/older-workspace.ts']);
    assert.deepEqual(having(tests, /\.once\('(exit|close)', (resolve|\(\) => resolve\(\))\)/), []);
  });

  it('draws nothing that no seed repeats', () => {
    const exceptions = [
      // Names what it refuses.
      'test/architecture/seams.test.ts',
      // Titles of a load that is measured: two runs on one database must not meet.
      'test/bench/load.ts',
    ];
    assert.deepEqual(having(files, /\bMath\.random\b/), exceptions);
  });

  it('is declared before its file has loaded', () => {
    // What an async suite declares later has no suite in a process that loads several files: the process waits without end.
    assert.deepEqual(having(files, /\bdescribe\([^\n]*\basync\b/), []);
  });

  it('polls by the one helper that has a deadline', () => {
    assert.deepEqual(having(tests, /\bwhile \([!(]*await\b|\bwhile \([^\n]*\) await\b/), []);
    assert.deepEqual(having(tests, /\bfor \(;;\)[^}]*\bsetTimeout\b/), []);
  });
});
