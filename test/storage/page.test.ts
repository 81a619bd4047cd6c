import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPage } from '../../storage/sql/read-page.js';
import { memoryToSql, ROW_COLUMNS, type SqlRow } from '../../storage/sql/rows.js';
import { aMemory } from '../support/memories.js';

let taken = 0;
function* cursor(...contents: readonly string[]): Generator<SqlRow> {
  for (const content of contents) {
    taken += 1;
    const values = memoryToSql(aMemory({ content, title: 't', metadata: {} }));
    yield {
      rid: taken,
      life_at: null,
      ...Object.fromEntries(ROW_COLUMNS.map((name, at) => [name, values[at]!])),
    };
  }
}

test('a page ends before the row that would go over its bytes, and reads nothing behind it', () => {
  taken = 0;
  const page = readPage(cursor('a'.repeat(100), 'b'.repeat(100), 'c'.repeat(100), 'd'), { bytesMax: 250 });
  assert.deepEqual([page.rows.length, page.truncated, taken], [2, true, 3]);
});

test('the first row comes whatever its size, and bytes are counted, not characters', () => {
  assert.deepEqual(
    [readPage(cursor('a'.repeat(1000)), { bytesMax: 10 })].map(({ rows, truncated }) => [
      rows.length,
      truncated,
    ]),
    [[1, false]],
  );
  const wide = readPage(cursor('東'.repeat(40), '京'.repeat(40)), { bytesMax: 200 });
  assert.deepEqual([wide.rows.length, wide.truncated], [1, true]);
});
