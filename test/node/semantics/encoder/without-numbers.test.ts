import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutNumbers } from '../../../../node/semantics/encoder/without-numbers.js';

test('every number, date, time and version becomes one word, in every script', () => {
  for (const [text, expected] of [
    ['the limit is 40,000 jobs', 'the limit is number jobs'],
    ['since 2025-03-14 at 09:20', 'since number at number'],
    ['PostgreSQL 15.2, port 5432.', 'PostgreSQL number, port number.'],
    ['3月14日に', 'number月number日に'],
    ['٤٥ دقيقة', 'number دقيقة'],
    ['no digits here', 'no digits here'],
    ['7', 'number'],
  ] as const)
    assert.equal(withoutNumbers(text), expected);
});

test('a long run of digits and marks takes no time', () => {
  const began = performance.now();
  withoutNumbers(`${'1.'.repeat(200_000)}x${'-'.repeat(200_000)}`);
  assert.ok(performance.now() - began < 2_000);
});
