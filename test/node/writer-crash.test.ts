import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadSettings } from '../../node/config/load-settings.js';
import { startDaemon } from '../../node/runtime/daemon.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';

const ROUNDS = 5;
const IN_FLIGHT = 300;

it('answers every caller when the writer thread dies in the middle of a batch, and serves on', async () => {
  const home = temporaryFolder('writer-crash');
  const settings = loadSettings(
    {
      home,
      port: 0,
      embedBackend: 'none',
      requireAttestation: false,
      logLevel: 'silent',
      maxMemoriesPerDay: 1e9,
    },
    { env: {} },
  );
  const daemon = await startDaemon(settings);
  const base = `http://127.0.0.1:${daemon.address.port}/api/v1`;
  const store = async (title: string) => {
    const response = await fetch(`${base}/memories`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title, content: 'x'.repeat(2000) }),
    });
    return {
      title,
      status: response.status,
      body: (await response.json()) as { id?: string; code?: string },
    };
  };
  const done: string[] = [];
  let restarted = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const calls = Array.from({ length: IN_FLIGHT }, (_, n) => store(`round ${round} row ${n}`));
    // The first answer shows that the batches are under way.
    await Promise.race(calls);
    daemon.crashWriter();
    for (const { status, body } of await Promise.all(calls)) {
      if (status === 201) done.push(body.id!);
      else {
        assert.equal(status, 503);
        assert.equal(body.code, 'ACTOR_RESTARTED');
        restarted += 1;
      }
    }
  }
  assert.ok(restarted > 0, 'no round was cut in the middle of a batch');
  assert.equal((await store('after the crash')).status, 201);
  for (const id of done) assert.equal((await fetch(`${base}/memories/${id}`)).status, 200);
  const writer = daemon.children().find((child) => child.id === 'writer');
  assert.equal(writer?.state, 'running');
  assert.ok(writer.restarts >= ROUNDS);
  await daemon.stop();
  assert.equal(await daemon.stopped, 0);
  assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
});
