import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { INLINE_ALONE_MS, INLINE_OTHERS_MS, INLINE_YIELD_MS } from '../../protocol/base/limits.js';
import { LockTurns } from '../../storage/sql/lock-turns.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { temporaryFolder } from '../support/daemon-process.js';

describe('the pause after a commit of an inline writer', () => {
  let mine: SqliteConnection;
  let other: SqliteConnection;
  let nowMs: number;
  let turns: LockTurns;
  const write = (db: SqliteConnection) => db.exec('INSERT INTO t VALUES (1)');
  /** The pause after a commit of this process, some milliseconds after the last. */
  const afterCommit = (laterMs: number) => {
    nowMs += laterMs;
    write(mine);
    return turns.pauseMs();
  };

  beforeEach(() => {
    const path = join(temporaryFolder('lock-turns'), 'turns.db');
    mine = openSqlite(path);
    mine.pragma('journal_mode = WAL');
    mine.exec('CREATE TABLE t (n INTEGER)');
    other = openSqlite(path);
    nowMs = 1000;
    turns = new LockTurns(mine, { monotonicMs: () => nowMs });
  });
  afterEach(() => {
    mine.close();
    other.close();
  });

  it('is none for one that writes alone, but for a moment now and then', () => {
    const stepMs = INLINE_ALONE_MS / 10;
    const pauses = Array.from({ length: 40 }, () => afterCommit(stepMs));
    assert.equal(pauses.filter((ms) => ms === INLINE_YIELD_MS).length, 4);
    assert.ok(pauses.every((ms) => ms === 0 || ms === INLINE_YIELD_MS));
    assert.equal(afterCommit(stepMs), 0);
  });

  it('follows each commit while another process writes, and for a while after', () => {
    assert.equal(afterCommit(1), 0);
    write(other);
    for (let n = 0; n < 5; n += 1) assert.equal(afterCommit(1), INLINE_YIELD_MS);
    assert.equal(afterCommit(INLINE_OTHERS_MS - 10), INLINE_YIELD_MS);
    assert.equal(afterCommit(10), 0, 'the other one has stopped');
  });

  it('does not follow what another process only reads', () => {
    other.prepare('SELECT * FROM t').all();
    assert.equal(afterCommit(1), 0);
  });
});
