import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startDaemon } from '../../node/runtime/daemon.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { until } from '../support/wait.js';
import { type Answered, ask, settingsFor } from './runtime/support.js';

const CLIENTS = 16;
const CRASHES = 3;

describe('a reader thread that dies under load', { timeout: 60_000 }, () => {
  it('costs at most the answers that it owed, each told so, and is replaced', async () => {
    const settings = settingsFor(temporaryFolder('reader-crash'));
    const daemon = await startDaemon(settings);
    const { port } = daemon.address;
    try {
      for (let n = 0; n < 200; n += 1) {
        const made = await ask(port, 'POST', '/memories', { title: `ferry ${n}`, content: `harbour ${n}` });
        assert.equal(made.status, 201);
      }
      let running = true;
      const tally = new Map<string, number>();
      const note = ({ status, body }: Answered) => {
        const key = `${status} ${String(body['code'] ?? '')}`.trim();
        tally.set(key, (tally.get(key) ?? 0) + 1);
      };
      const fine = () => tally.get('200') ?? 0;
      const clients = Promise.all(
        Array.from({ length: CLIENTS }, async () => {
          while (running) note(await ask(port, 'POST', '/recall', { context: 'ferry harbour' }));
        }),
      );
      const readers = () => daemon.children().filter(({ id }) => id.startsWith('reader-'));
      for (let crash = 0; crash < CRASHES; crash += 1) {
        const before = fine();
        await until('recalls are answered', () => fine() > before + CLIENTS);
        daemon.crashReaders();
        await until('the thread is noticed to be gone', () =>
          readers().some(({ state }) => state !== 'running'),
        );
        await until('it is replaced', () => readers().every(({ state }) => state === 'running'));
        // What needs no reader thread goes on meanwhile.
        assert.equal(
          (await ask(port, 'POST', '/memories', { title: `w${crash}`, content: 'c' })).status,
          201,
        );
      }
      const before = fine();
      await until('recalls are answered again', () => fine() > before + CLIENTS);
      running = false;
      await clients;
      const others = [...tally.keys()].filter((key) => key !== '200');
      for (const key of others) assert.equal(key, '503 ACTOR_RESTARTED');
      const lost = others.reduce((sum, key) => sum + tally.get(key)!, 0);
      assert.ok(lost <= CRASHES * CLIENTS, `${lost} answers were lost`);
      const after = await ask(port, 'POST', '/recall', { context: 'ferry' });
      assert.equal((after.body['memories'] as unknown[]).length, 10);
    } finally {
      await daemon.stop();
    }
    assert.deepEqual(auditLog(settings.dbPath), []);
  });
});
