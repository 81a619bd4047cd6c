import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Statement } from '../../storage/sql/connection.js';
import { readOperations } from '../../storage/sql/queries/replication.js';
import { Statements } from '../../storage/sql/statements.js';
import { openReader } from '../../storage/sqlite/connection.js';
import { openBenchDatabase, storeCommand } from '../bench/database.js';
import { temporaryFolder } from '../support/daemon-process.js';

/** Lets somebody else write after the heads were read and before the operations are. */
class Interrupted extends Statements {
  constructor(
    reader: ReturnType<typeof openReader>,
    private readonly write: () => void,
  ) {
    super(reader);
  }

  override get(sql: string): Statement {
    if (sql.startsWith('SELECT * FROM operations')) this.write();
    return super.get(sql);
  }
}

test('a page of the log ends at the head that it names, whoever writes meanwhile', () => {
  const path = join(temporaryFolder('read'), 'a.db');
  const database = openBenchDatabase(path, 'OFF');
  let made = 0;
  const write = () => {
    made += 1;
    database.write([storeCommand({ title: `row ${made}` })]);
  };
  write();
  const reader = openReader(path);
  try {
    const page = readOperations(new Interrupted(reader, write), {
      kind: 'read-operations',
      have: {},
      origins: null,
      limit: 100,
      bytesMax: 1_000_000,
    });
    const last = page.operations.at(-1)!;
    assert.ok(made > page.operations.length);
    const next = database.db
      .prepare('SELECT prev_hash FROM operations WHERE origin_seq = ?')
      .get(last.seq + 1) as { prev_hash: string };
    assert.deepEqual(page.ends, { [last.origin]: { seq: last.seq, hash: next.prev_hash } });
  } finally {
    reader.close();
    database.close();
  }
});
