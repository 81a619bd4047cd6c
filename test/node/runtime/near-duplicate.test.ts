import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startDaemon } from '../../../node/runtime/daemon.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { until } from '../../support/wait.js';
import { ask, settingsFor } from './support.js';

describe('the near-duplicate guard with the built-in embedder', () => {
  it('refuses the same in nearly the same words, and only in one namespace', async () => {
    const daemon = await startDaemon(settingsFor(temporaryFolder('near'), { embedBackend: 'builtin' }));
    const { port } = daemon.address;
    const store = (body: object) => ask(port, 'POST', '/memories', body);
    const sundays = 'We deploy on Sundays between two and four in the night.';
    const mondays = { title: 'Deploy window .', content: sundays.replace('Sundays', 'Mondays') };
    try {
      const first = await store({ title: 'Deploy window', content: sundays });
      assert.equal(first.status, 201, 'a cold embedder keeps nobody waiting');
      await until('it is embedded', async () => {
        const body = { title: 'x', content: 'any text' };
        const asked = await ask(port, 'POST', '/check_duplicate', body);
        return asked.body['candidates_scanned'] === 1;
      });
      assert.equal((await store({ ...mondays, namespace: 'elsewhere' })).status, 201);
      // On a busy machine the embedder may answer too late, and then the store is made.
      let tries = 0;
      await until('a store is refused', async () => {
        const { status, body } = await store({
          ...mondays,
          content: `${mondays.content}${'!'.repeat(tries++)}`,
        });
        mondays.title = `Deploy window .${'.'.repeat(tries)}`;
        if (status !== 201)
          assert.deepEqual([status, body['reason']], [409, 'near_duplicate_with_differing_content']);
        return status === 409 && Number(body['similarity']) >= 0.95;
      });
      assert.equal((await store({ title: 'Bees', content: 'Honey is made of nectar.' })).status, 201);
      assert.equal((await store({ ...mondays, title: 'Forced', force: true })).status, 201);
    } finally {
      await daemon.stop();
    }
  });
});
