import assert from 'node:assert/strict';
import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { systemCrypto, systemRandom } from '../../../node/seams.js';
import { openAs } from '../../../node/threads/open-database.js';
import { SCHEMA_VERSION } from '../../../protocol/base/schema-version.js';
import { Writer } from '../../../storage/sql/writer.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { storing, UNLIMITED } from '../../support/memories.js';
import { until } from '../../support/wait.js';

async function daemon(t: TestContext, label: string) {
  const home = temporaryFolder(label);
  const serve = await startDaemonProcess(home, await freePort());
  t.after(() => serve.end('SIGKILL'));
  const ask = async (path: string, body?: unknown) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const answer = await fetch(`${serve.base}${path}`, body === undefined ? {} : init);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const store = (title: string) => ask('/memories', { title, content: `about ${title}` });
  const unhealthy = () =>
    until('health says so', async () => (await ask('/health')).status === 503, { withinMs: 10_000 });
  return { path: join(home, 'mnemesh.db'), ask, store, unhealthy };
}

describe('a database that changed under an open daemon', () => {
  it('takes no write after a later release upgraded it, and still answers reads', async (t) => {
    const { path, ask, store, unhealthy } = await daemon(t, 'later-release');
    assert.equal((await store('before')).status, 201);
    const later = new Database(path);
    later.prepare('INSERT INTO schema_version VALUES (?, ?)').run(SCHEMA_VERSION + 1, 'now');
    const refused = await store('after');
    assert.equal(refused.status, 500);
    assert.equal(refused.body['code'], 'MIGRATION_REFUSED', JSON.stringify(refused.body));
    assert.match(JSON.stringify(refused.body), /restart this process/);
    await unhealthy();
    const listed = await ask('/memories');
    assert.equal(listed.status, 200);
    assert.equal(later.prepare('SELECT count(*) FROM memories').pluck().get(), 1);
    later.close();
  });

  it('takes no write after a copy was put in its place', async (t) => {
    const { path, store, unhealthy } = await daemon(t, 'copy-in-place');
    assert.equal((await store('before')).status, 201);
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
    const refused = await store('after');
    assert.equal(refused.status, 500);
    assert.match(JSON.stringify(refused.body), /removed or replaced.*Restart this process/);
    await unhealthy();
  });
});

it('takes no write in a process that writes by itself, until the version is its own again', () => {
  const path = join(temporaryFolder('own-version'), 'mnemesh.db');
  const db = openAs({ engine: 'sqlite', path, synchronous: 'FULL' }, 'peer-0000000000000001', {
    busyTimeoutMs: 100,
  });
  const reportBug = (error: unknown) => {
    throw error;
  };
  const writer = new Writer({ db, crypto: systemCrypto, reportBug, signer: null, policy: UNLIMITED });
  const store = () => {
    const id = systemRandom.uuid();
    const [result] = writer.run([{ command: storing({ title: id, id }), nowMs: Date.now() }]);
    return result?.ok === true ? 'ok' : result?.error.code;
  };
  const version = new Database(path);
  version.prepare('INSERT INTO schema_version VALUES (?, ?)').run(SCHEMA_VERSION + 7, 'now');
  assert.equal(store(), 'MIGRATION_REFUSED');
  assert.equal(db.inTransaction, false);
  version.prepare('DELETE FROM schema_version WHERE version > ?').run(SCHEMA_VERSION);
  assert.equal(store(), 'ok');
  version.close();
  db.close();
});
