import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startDaemon } from '../../../node/runtime/daemon.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { until } from '../../support/wait.js';
import { ask, settingsFor } from './support.js';

describe('check_duplicate with the built-in embedder', () => {
  it('compares meaning in one namespace, and the same text where it has no letters', async () => {
    const daemon = await startDaemon(settingsFor(temporaryFolder('duplicate'), { embedBackend: 'builtin' }));
    const { port } = daemon.address;
    const check = async (title: string, content: string, rest: object = {}) => {
      const { status, body } = await ask(port, 'POST', '/check_duplicate', { title, content, ...rest });
      assert.equal(status, 200, JSON.stringify(body));
      return body as {
        is_duplicate: boolean;
        threshold: number;
        nearest: { id: string; title: string; similarity: number } | null;
        suggested_merge: string | null;
        candidates_scanned: number;
      };
    };
    try {
      const ids: string[] = [];
      for (const [title, content, namespace] of [
        ['Deploy window', 'We deploy on Sundays between two and four in the night.', 'global'],
        ['Lunch', 'The canteen has soup on Fridays.', 'global'],
        ['Deploy window', 'We deploy on Sundays between two and four in the night.', 'elsewhere'],
        ['2026-11', '+49 30 901820, 09:00 – 17:30', 'global'],
      ]) {
        const { body } = await ask(port, 'POST', '/memories', { title, content, namespace });
        ids.push(String(body['id']));
      }
      await until('all are embedded', async () => {
        const body = { title: 'x', content: 'any text' };
        const asked = await ask(port, 'POST', '/check_duplicate', body);
        return asked.body['candidates_scanned'] === 2;
      });
      const same = await check('Deploy window', 'We deploy on Sundays between two and four in the night.');
      assert.deepEqual(
        [same.is_duplicate, same.suggested_merge, same.nearest?.similarity],
        [true, ids[0], 1],
      );
      assert.equal(same.candidates_scanned, 2, 'the row without a vector is not compared');

      const near = await check('Window of deployment', 'Deploys happen on Sunday night, from 2 to 4.');
      assert.equal(near.nearest?.id, ids[0]);
      assert.equal(near.nearest!.similarity, Math.round(near.nearest!.similarity * 1000) / 1000);
      const low = await check('Window of deployment', 'Deploys happen on Sunday night.', { threshold: 0.1 });
      assert.equal(low.threshold, 0.5, 'the floor');
      assert.equal(low.is_duplicate, low.nearest!.similarity >= 0.5);

      const other = await check('Bees', 'Honey is made of nectar.', { threshold: 1 });
      assert.deepEqual([other.is_duplicate, other.suggested_merge], [false, null]);
      const empty = await check('Deploy window', 'x', { namespace: 'empty' });
      assert.deepEqual([empty.is_duplicate, empty.nearest, empty.candidates_scanned], [false, null, 0]);
      const numbers = await check('2026-11', '+49 30 901820, 09:00 – 17:30');
      assert.deepEqual([numbers.is_duplicate, numbers.nearest?.id], [true, ids[3]]);
      const german = await check(
        'Bereitstellung',
        'Wir liefern sonntags zwischen zwei und vier Uhr nachts aus.',
      );
      assert.equal(german.nearest?.id, ids[0]);
    } finally {
      await daemon.stop();
    }
  });
});
