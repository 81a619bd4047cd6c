import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { onlyOnSqlite, openBeside } from '../../support/test-store.js';
import { run } from './cli-process.js';

const TITLE = 'THE-TITLE-OF-A-ROW';
const AGENT = 'ai:tester';
const CONTENT = 'the ferry leaves at noon';

/** A home with one memory, and a flipped byte in its title. */
async function damaged(name: string) {
  const home = temporaryFolder(name);
  const db = join(home, 'mnemesh.db');
  const stored = await run(home, [
    'store',
    '--title',
    TITLE,
    '--content',
    CONTENT,
    '--agent-id',
    AGENT,
    '--json',
  ]);
  assert.equal(stored.code, 0, stored.err);
  const { id } = JSON.parse(stored.out) as { id: string };
  const flip = () => {
    const bytes = readFileSync(db);
    const at = bytes.indexOf(TITLE + CONTENT);
    assert.ok(at >= 0);
    bytes[at] = bytes[at]! ^ 1;
    writeFileSync(db, bytes);
  };
  return { home, db, id, flip };
}

/** Changes a row without the knowledge of the process that has the database open. */
function onDisk(path: string, sql: string, ...values: unknown[]): void {
  const db = openBeside({ path });
  db.prepare(sql).run(...values);
  db.close();
}

const failureOf = (err: string) => JSON.parse(err) as { code: string; damaged_id?: string; error: string };

describe('mnemesh repair', { timeout: 120_000 }, () => {
  it('brings a file with a damaged row and index back, which doctor asks for', {
    skip: onlyOnSqlite('a byte of the file is flipped'),
  }, async () => {
    const { home, db, id, flip } = await damaged('repair');
    flip();
    const before = await run(home, ['doctor', '--json']);
    assert.equal(before.code, 2);
    assert.match(before.out, /DB_DAMAGED/);
    assert.match(before.out, /mnemesh repair/);
    const refused = await run(home, ['update', id, '--content', 'another', '--agent-id', AGENT, '--json']);
    const { code, damaged_id, error } = failureOf(refused.err);
    assert.deepEqual([refused.code, code, damaged_id], [70, 'DATA_DAMAGED', id]);
    assert.match(error, /mnemesh repair/);
    assert.match((await run(home, ['doctor', '--json'])).out, /DAMAGED_ROWS/);

    const done = await run(home, ['repair', '--json']);
    assert.equal(done.code, 0, done.err);
    const answer = JSON.parse(done.out) as Record<string, unknown>;
    assert.ok((answer['found'] as string[]).length > 0);
    assert.deepEqual([answer['left'], answer['suspects']], [[], 0]);
    assert.deepEqual(answer['rows_repaired'], [{ id, problem: 'damaged' }]);
    const shown = JSON.parse((await run(home, ['get', id, '--json'])).out) as { title: string };
    assert.equal(JSON.stringify(shown).includes(TITLE), true);
    assert.equal((await run(home, ['update', id, '--content', 'another', '--agent-id', AGENT])).code, 0);
    assert.doesNotMatch((await run(home, ['doctor', '--json'])).out, /DB_DAMAGED|DAMAGED_ROWS/);
    assert.deepEqual(auditLog(db), []);
  });

  it('is refused beside a daemon, which repairs rows by itself', async (context) => {
    const { home, db, id } = await damaged('repair-daemon');
    const daemon = await startDaemonProcess(home, await freePort());
    context.after(() => daemon.end('SIGKILL'));
    const refused = await run(home, ['repair', '--json']);
    assert.deepEqual([refused.code, failureOf(refused.err).code], [75, 'DATABASE_IN_USE']);

    onDisk(db, "UPDATE memories SET content = 'flipped' WHERE id = ?", id);
    const update = () =>
      fetch(`${daemon.base}/memories/${id}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', 'x-agent-id': AGENT },
        body: JSON.stringify({ priority: 9 }),
      });
    const first = await update();
    const failure = (await first.json()) as { code: string; damaged_id: string };
    assert.deepEqual([first.status, failure.code, failure.damaged_id], [500, 'DATA_DAMAGED', id]);
    let status = 500;
    for (const endMs = Date.now() + 10_000; status !== 200 && Date.now() < endMs; ) {
      status = (await update()).status;
    }
    assert.equal(status, 200);
    const read = (await (await fetch(`${daemon.base}/memories/${id}`)).json()) as object;
    assert.match(JSON.stringify(read), /the ferry leaves at noon/);

    onDisk(db, "UPDATE memories SET tags = '[' WHERE id = ?", id);
    const listed = (await (await fetch(`${daemon.base}/memories`)).json()) as Record<string, unknown>;
    assert.deepEqual([listed['count'], listed['omitted_damaged']], [0, 1]);
    let again = listed;
    for (const endMs = Date.now() + 10_000; again['count'] !== 1 && Date.now() < endMs; ) {
      again = (await (await fetch(`${daemon.base}/memories`)).json()) as Record<string, unknown>;
    }
    assert.deepEqual([again['count'], again['omitted_damaged']], [1, undefined]);
    await daemon.end('SIGTERM');
    assert.deepEqual(auditLog(db), []);
  });
});
