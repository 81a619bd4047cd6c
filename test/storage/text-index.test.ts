import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { REINDEX_CHARACTERS_MAX, REINDEX_ROWS_MAX } from '../../protocol/base/limits.js';
import { storing, updating } from '../support/memories.js';
import { replica } from '../support/replicas.js';

const START_MS = Date.parse('2026-03-01T12:00:00.000Z');

const found = (db: ReturnType<typeof replica>['db'], expression: string) =>
  db.prepare('SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?').pluck().get(expression);

/** All rows indexed as the release before indexed them. */
const asBefore = `DELETE FROM memories_fts;
  INSERT INTO memories_fts (rowid, title, content, tags, nst)
    SELECT rid, title, content, tags, 'n' || ns_id FROM memories;
  UPDATE text_index SET before = 0, waiting = (SELECT max(rid) FROM memories)`;

describe('texts that are indexed again', () => {
  it('go page by page, the newest first, and rows that come meanwhile are not among them', async () => {
    const one = replica('a', START_MS);
    const rows = REINDEX_ROWS_MAX + 50;
    for (let at = 0; at < rows; at += 1) {
      await one.run(storing({ title: `note ${at}`, content: `倉庫${at}` }));
    }
    one.db.exec(asBefore);
    assert.equal(found(one.db, '"倉庫"'), 0);
    await one.run({ kind: 'reindex-texts' });
    assert.equal(found(one.db, '"倉庫"'), REINDEX_ROWS_MAX);
    await one.run(storing({ title: 'late', content: '倉庫' }));
    const progress = await one.store.query({ kind: 'text-index-progress' });
    assert.deepEqual(progress.ok && progress.value, { waiting: 50 });
    await one.run({ kind: 'reindex-texts' });
    assert.equal(found(one.db, '"倉庫"'), rows + 1);
    const idle = await one.store.execute({ kind: 'reindex-texts' });
    assert.deepEqual(idle.ok && idle.value, { more: false });
    assert.deepEqual(one.audit(), []);
  });

  it('stop a page at its characters', async () => {
    const one = replica('b', START_MS);
    const content = `倉庫前 ${'word '.repeat(REINDEX_CHARACTERS_MAX / 10)}`;
    for (let at = 0; at < 6; at += 1) await one.run(storing({ title: `note ${at}`, content }));
    one.db.exec(asBefore);
    await one.run({ kind: 'reindex-texts' });
    assert.equal(found(one.db, '"倉庫"'), 2);
  });

  it('survive an update, and a removal of rows that wait', async () => {
    const one = replica('c', START_MS);
    const ids: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      const command = storing({ title: `note ${at}`, content: `倉庫${at}` });
      ids.push(command.memory.id);
      await one.run(command);
    }
    one.db.exec(asBefore);
    await one.run(updating(ids[0]!, { content: '東京の話' }));
    assert.equal(found(one.db, '"東京"'), 1);
    one.db.prepare('DELETE FROM memories WHERE id = ?').run(ids[2]!);
    await one.run({ kind: 'reindex-texts' });
    assert.deepEqual([found(one.db, '"東京"'), found(one.db, '"倉庫"')], [1, 1]);
  });
});
