import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { startDaemon } from '../../../node/runtime/daemon.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { until } from '../../support/wait.js';
import { ask, settingsFor } from './support.js';

const { notes } = JSON.parse(readFileSync('fixtures/notes.json', 'utf8')) as {
  readonly notes: readonly { readonly title: string; readonly content: string }[];
};

/** A home whose notes another release indexed as they stand, without further terms. */
async function olderHome(): Promise<{ home: string; path: string }> {
  const home = temporaryFolder('reindex');
  const path = join(home, 'mnemesh.db');
  const daemon = await startDaemon(settingsFor(home));
  for (const { title, content } of notes) {
    const note = { namespace: 'notes', title, content };
    assert.equal((await ask(daemon.address.port, 'POST', '/memories', note)).status, 201);
  }
  await daemon.stop();
  const db = new Database(path);
  db.exec(`DELETE FROM memories_fts;
    INSERT INTO memories_fts (rowid, title, content, tags, nst)
      SELECT rid, title, content, tags, 'n' || ns_id FROM memories;
    UPDATE text_index SET rules = 0`);
  db.close();
  return { home, path };
}

const waiting = (path: string): number => {
  const db = new Database(path, { readonly: true });
  try {
    return db
      .prepare('SELECT count(*) FROM memories WHERE rid <= (SELECT waiting FROM text_index)')
      .pluck()
      .get() as number;
  } finally {
    db.close();
  }
};

const titles = async (port: number, path: 'search' | 'recall', q: string) => {
  const { status, body } = await ask(
    port,
    'GET',
    `/${path}?${new URLSearchParams({ q, namespace: 'notes' })}`,
  );
  assert.equal(status, 200, JSON.stringify(body));
  return ((body['memories'] ?? body['results']) as { title: string }[]).map(({ title }) => title);
};

const JAPANESE = '東京倉庫の入館方法';
const complete = (path: string) =>
  until('the full text is complete', () => Promise.resolve(waiting(path) === 0));

describe('a database of the release before', () => {
  it('serves reads and writes at once, and then finds what its index could not find', async () => {
    const { home, path } = await olderHome();
    const daemon = await startDaemon(settingsFor(home));
    try {
      const { port } = daemon.address;
      // A word that both indexes know.
      assert.deepEqual(await titles(port, 'search', 'MongoDB retries'), ['Why we left MongoDB']);
      const stored = await ask(port, 'POST', '/memories', {
        namespace: 'notes',
        title: '名古屋支店',
        content: '名古屋支店は駅前にあります',
      });
      assert.equal(stored.status, 201);
      assert.deepEqual(await titles(port, 'search', '支店 駅前'), ['名古屋支店']);
      await complete(path);
      assert.deepEqual(await titles(port, 'search', '倉庫 入館'), [JAPANESE]);
      assert.equal((await titles(port, 'recall', '東京倉庫に入館するには'))[0], JAPANESE);
      assert.deepEqual(await titles(port, 'search', 'user token kid'), [
        'parseUserToken rejects tokens without kid',
      ]);
      await until('the metrics say so', async () => {
        const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        return text.includes('svc_memories_pending_reindex 0\n');
      });
    } finally {
      await daemon.stop();
    }
    assert.deepEqual(auditLog(path), []);
  });

  it('goes on after a restart in the middle, and two nodes on one file do not fight', async () => {
    const { home, path } = await olderHome();
    const first = await startDaemon(settingsFor(home));
    await first.stop();
    const db = new Database(path);
    // As after a crash in the middle: the newest half is done.
    db.exec(`UPDATE text_index SET before = 0, waiting = ${notes.length / 2}`);
    db.close();
    assert.equal(waiting(path), notes.length / 2);
    const nodes = [await startDaemon(settingsFor(home)), await startDaemon(settingsFor(home))];
    try {
      await complete(path);
      for (const { address } of nodes) {
        assert.deepEqual(await titles(address.port, 'search', 'data protection'), []);
        assert.ok(
          (await titles(address.port, 'search', 'Datenschutz')).includes(
            'Datenschutzbeauftragte ist Frau Yıldız',
          ),
        );
      }
    } finally {
      for (const node of nodes) await node.stop();
    }
    assert.deepEqual(auditLog(path), []);
  });

  it('is indexed again when its rules are of another release', async () => {
    const { home, path } = await olderHome();
    const first = await startDaemon(settingsFor(home));
    await complete(path);
    await first.stop();
    const db = new Database(path);
    // Another release indexed one row by other rules.
    db.exec(`UPDATE text_index SET rules = 7;
      INSERT OR REPLACE INTO memories_fts (rowid, title, content, tags, nst)
        SELECT rid, 'nothing', 'else', '', 'n' || ns_id FROM memories WHERE title = '${JAPANESE}'`);
    db.close();
    const again = await startDaemon(settingsFor(home));
    try {
      await complete(path);
      assert.deepEqual(await titles(again.address.port, 'search', '倉庫 入館'), [JAPANESE]);
      assert.deepEqual(await titles(again.address.port, 'search', 'nothing else'), []);
    } finally {
      await again.stop();
    }
  });
});
