import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Connection } from '../../storage/sql/connection.js';
import { readOperations } from '../../storage/sql/queries/replication.js';
import { Statements } from '../../storage/sql/statements.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { openBeside } from '../support/test-store.js';
import { run } from '../surface/cli/cli-process.js';

const ROWS = 'SELECT * FROM operations WHERE origin';

/** Statements during which another connection commits: once the heads were read, and before the rows are. */
class Interrupted extends Statements {
  constructor(
    db: Connection,
    private readonly commit: () => void,
  ) {
    super(db);
  }

  override get(sql: string) {
    if (sql.startsWith(ROWS)) this.commit();
    return super.get(sql);
  }
}

it('a page of operations ends at the head of its moment, whatever is written meanwhile', async () => {
  const home = temporaryFolder('read-operations');
  const stored = await run(home, ['store', '--title', 'one', '--content', 'first']);
  assert.equal(stored.code, 0, stored.err);
  const [writing, reading] = [openBeside({ home }), openBeside({ home })];
  try {
    const head = writing.prepare('SELECT chain_head FROM log_state').pluck().get();
    const statements = new Interrupted(reading, () => {
      writing.exec(`
        INSERT INTO operations SELECT commit_sequence + 1, origin, origin_seq + 1, hlc, kind, namespace, subject, seen,
          payload_hash, (SELECT chain_head FROM log_state), payload, NULL, parked, head_signature FROM operations;
        UPDATE log_state SET origin_seq = 2, commit_sequence = 2, chain_head = 'another';`);
    });
    const page = readOperations(statements, {
      kind: 'read-operations',
      have: {},
      origins: null,
      limit: 10,
      bytesMax: 100_000,
    });
    assert.deepEqual(
      page.operations.map(({ seq }) => seq),
      [1],
    );
    assert.deepEqual(
      Object.values(page.ends).map(({ seq, hash }) => [seq, hash]),
      [[1, head]],
    );
    assert.equal(page.more, false);
    assert.equal(writing.prepare('SELECT count(*) FROM operations').pluck().get(), 2);
  } finally {
    writing.close();
    reading.close();
  }
});
