import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { queryOf, vectorOf } from '../../../storage/postgres/full-text.js';
import { openSqlite } from '../../../storage/sqlite/open-sqlite.js';
import { PostgresServer, withoutServer } from '../../support/postgres-server.js';
import fc from '../../support/properties.js';

const WORDS =
  "ferry Ferries leaving leave harbour Äpfel apfel äpfel naïve don't it's 漢字 漢 🦊 a_b x-y C++ 3.14 running ran ÉCOLE école Straße ß \\ ' ” о́ ٣ ﬁne".split(
    ' ',
  );
const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 12 }).map((words) => words.join(' '));
const row = fc.record({ title: text, content: text, tags: text, nst: fc.constantFrom('n1', 'n2') });

const quoted = (words: string) => `"${words.replaceAll('"', '""')}"`;
const phrase = fc
  .tuple(fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([words, begins]) => `${quoted(words.join(' '))}${begins ? ' *' : ''}`);
const item = fc
  .tuple(fc.constantFrom('', '', 'tags : ', '{title content tags} : '), phrase)
  .map((parts) => parts.join(''));
const expression = fc
  .tuple(item, fc.array(fc.tuple(fc.constantFrom(' OR ', ' AND '), item), { maxLength: 3 }), fc.boolean())
  .map(([first, more, isGrouped]) => {
    const all = `${first}${more.map((each) => each.join('')).join('')}`;
    return isGrouped ? `(${all}) AND ${quoted('ferry')}` : all;
  });

describe('the full text of PostgreSQL', { skip: withoutServer }, () => {
  let server: PostgresServer;
  let client: pg.Client;
  before(async () => {
    server = await PostgresServer.start();
    client = new pg.Client({ connectionString: await server.database() });
    await client.connect();
  });
  after(async () => {
    await client.end();
    await server.stop();
  });

  const found = async (rows: readonly Parameters<typeof vectorOf>[0][], asked: string) => {
    const vectors = rows.map((each) => vectorOf(each));
    const sql = `SELECT ordinality::int AS place FROM unnest($1::text[]) WITH ORDINALITY AS v
      WHERE v.v::tsvector @@ $2::tsquery ORDER BY 1`;
    return (await client.query(sql, [vectors, queryOf(asked)])).rows.map(({ place }) => place as number);
  };

  it('finds the rows that FTS5 finds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 6 }), expression, async (rows, asked) => {
        const db = openSqlite(':memory:');
        db.exec(`CREATE VIRTUAL TABLE f USING fts5 (title, content, tags, nst, content = '', contentless_delete = 1,
          tokenize = 'porter unicode61 remove_diacritics 2')`);
        const insert = db.prepare(
          'INSERT INTO f (title, content, tags, nst) VALUES (@title, @content, @tags, @nst)',
        );
        for (const each of rows) insert.run(each);
        const expected = db.prepare('SELECT rowid FROM f WHERE f MATCH ? ORDER BY rowid').pluck().all(asked);
        db.close();
        assert.deepEqual(await found(rows, asked), expected, asked);
      }),
      { numRuns: 300 },
    );
  });

  it('takes texts and words of any length', async () => {
    const of = (content: string) => ({ title: '', content, tags: '', nst: '' });
    const long = 'ä'.repeat(5000);
    const many = Array.from({ length: 300_000 }, (_, n) => `w${n}`).join(' ');
    const often = `${'again '.repeat(40_000)}last`;
    const rows = [of(long), of(many), of(often)];
    assert.deepEqual(await found(rows, quoted(long)), [1]);
    assert.deepEqual(await found(rows, quoted('w7')), [2]);
    assert.deepEqual(await found(rows, quoted('last')), [3]);
    assert.deepEqual(await found(rows, quoted('again again')), [3]);
  });
});
