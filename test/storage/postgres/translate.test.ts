import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { translate } from '../../../storage/postgres/translate.js';

/** A statement, and how PostgreSQL gets it. */
const CASES: readonly (readonly [rule: string, sql: string, text: string])[] = [
  [
    'numbers parameters by position',
    'SELECT a FROM t WHERE b = ? AND c = ?',
    'SELECT a FROM t WHERE b = $1 AND c = $2',
  ],
  ['gives a named parameter one number', 'SELECT @a, @b, @a', 'SELECT $1, $2, $1'],
  [
    'leaves texts and comments',
    "SELECT '?' , '@a IS ?', \"@b\" -- ? @c\n",
    "SELECT '?' , '@a IS ?', \"@b\" -- ? @c\n",
  ],
  [
    'gives a test for NULL a parameter of its own',
    'WHERE @a IS NULL OR b = @a',
    'WHERE $1::text IS NULL OR b = $2',
  ],
  [
    'compares with IS as without NULL',
    'WHERE a IS ? AND b IS NOT c',
    'WHERE a IS NOT DISTINCT FROM $1 AND b IS DISTINCT FROM c',
  ],
  [
    'leaves IS of a word',
    'a IS NULL AND b IS NOT NULL AND c IS TRUE',
    'a IS NULL AND b IS NOT NULL AND c IS TRUE',
  ],
  [
    'joins with a condition as the server likes',
    'FROM a CROSS JOIN b ON b.x = a.x',
    'FROM a  JOIN b ON b.x = a.x',
  ],
  ['leaves a join without one', 'FROM a CROSS JOIN b WHERE b.x = a.x', 'FROM a CROSS JOIN b WHERE b.x = a.x'],
  ['drops the hint of an index', 'FROM a INDEXED BY i WHERE b', 'FROM a  WHERE b'],
  ['names a source', 'SELECT * FROM (SELECT 1) WHERE a', 'SELECT * FROM (SELECT 1) AS source_1 WHERE a'],
  [
    'leaves the name of a source',
    'FROM (SELECT 1) AS x JOIN (SELECT 2) y ON TRUE',
    'FROM (SELECT 1) AS x JOIN (SELECT 2) y ON TRUE',
  ],
  ['quotes names with capitals', 'SELECT count(*) AS ofNode', 'SELECT count(*) AS "ofNode"'],
  [
    'knows types by their capitals',
    'SELECT m.text AS text, CAST(a AS INTEGER)',
    'SELECT m.text AS text, CAST(a AS BIGINT)',
  ],
  ['calls chr for char', 'a < @p || char(127)', 'a < $1 || chr(127)'],
  [
    'reads members that are numbers as numbers',
    "payload ->> '$.priority' = 1",
    "payload -># '$.priority' = 1",
  ],
  [
    'reads other members as texts',
    "payload ->> '$.title' = metadata ->> '$.priority'",
    "payload ->> '$.title' = metadata ->> '$.priority'",
  ],
  ['takes what is only for it', 'WHERE a /* postgres: ORDER BY b */ LIMIT 1', 'WHERE a ORDER BY b LIMIT 1'],
  [
    'searches the full text',
    'FROM memories_fts WHERE memories_fts MATCH ?',
    'FROM memories_fts WHERE terms @@ $1::tsquery',
  ],
  [
    'writes a table',
    'CREATE TABLE t (a TEXT, b REAL, c BLOB, d AS (a) VIRTUAL) WITHOUT ROWID',
    'CREATE TABLE t (a TEXT COLLATE "C", b DOUBLE PRECISION, c BYTEA, d AS (a) STORED) ',
  ],
];

describe('the common SQL for PostgreSQL', () => {
  for (const [rule, sql, text] of CASES) it(rule, () => assert.equal(translate(sql).text, text));

  it('says which parameters are expressions, tests and names', () => {
    const { parameters, expressions, tests } = translate(
      'SELECT 1 FROM f WHERE f MATCH @e AND (@n IS NULL OR a = @n) AND b = ?',
    );
    assert.deepEqual(parameters, ['e', 'n', 'n', null]);
    assert.deepEqual([[...expressions], [...tests]], [[0], [1]]);
  });
});
