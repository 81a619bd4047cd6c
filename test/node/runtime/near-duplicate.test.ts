import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startDaemon } from '../../../node/runtime/daemon.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { until, untilAnswer } from '../../support/wait.js';
import { ask, BesideDatabase, settingsFor } from './support.js';

type Near = readonly { readonly id: string; readonly title: string; readonly similarity: number }[];

const sundays = 'We deploy on Sundays between two and four in the night.';
const mondays = sundays.replace('Sundays', 'Mondays');

/** A daemon, and how it is asked. */
async function open(label: string, changes: Parameters<typeof settingsFor>[1] = {}) {
  const home = temporaryFolder(label);
  const daemon = await startDaemon(settingsFor(home, changes));
  const { port } = daemon.address;
  const store = async (body: object) => {
    const answer = await ask(port, 'POST', '/memories', { detect_conflicts: false, ...body });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body['near_duplicates'], undefined, 'nothing is looked for beside this write');
    return String(answer.body['id']);
  };
  const flagsOf = async (id: string) => {
    const { body } = await ask(port, 'GET', `/memories/${id}`);
    const { near_duplicates } = body['memory'] as { near_duplicates?: Near };
    return (near_duplicates ?? []).map((near) => near.id);
  };
  const flagged = (id: string, ids: readonly string[]) =>
    untilAnswer(
      `${id} is flagged with ${ids.join()}`,
      () => flagsOf(id),
      (found) => found.join() === ids.join(),
    );
  return { home, daemon, port, store, flagsOf, flagged };
}

describe('rows that say nearly the same', () => {
  it('are flagged after their commit, from both sides, and only in one namespace', async () => {
    const { daemon, store, flagsOf, flagged } = await open('near');
    try {
      const first = await store({ title: 'Deploy window', content: sundays });
      const elsewhere = await store({ title: 'Deploy window', content: sundays, namespace: 'elsewhere' });
      const second = await store({ title: 'Deploy windows', content: mondays });
      await flagged(second, [first]);
      await flagged(first, [second]);
      assert.deepEqual(await flagsOf(elsewhere), []);
    } finally {
      await daemon.stop();
    }
  });

  it('lose the flag when one of them is changed or removed, and get it when a change makes them alike', async () => {
    const { daemon, port, home, store, flagged } = await open('near-change');
    try {
      const first = await store({ title: 'Deploy window', content: sundays });
      const second = await store({ title: 'Deploy windows', content: mondays });
      await flagged(second, [first]);
      await ask(port, 'PUT', `/memories/${second}`, { content: 'Honey is made of nectar.' });
      await flagged(first, []);
      await ask(port, 'PUT', `/memories/${second}`, { content: mondays });
      await flagged(first, [second]);
      await ask(port, 'DELETE', `/memories/${second}`);
      await flagged(first, []);
      const beside = new BesideDatabase(home);
      assert.equal(beside.rows('near_duplicates'), 0, 'the flags went with the row');
      beside.close();
    } finally {
      await daemon.stop();
    }
  });

  it('are compared again from where the last process ended', async () => {
    const { daemon, home, store } = await open('near-restart');
    const first = await store({ title: 'Deploy window', content: sundays });
    await daemon.stop();
    const again = await startDaemon(settingsFor(home));
    try {
      const { body } = await ask(again.address.port, 'POST', '/memories', {
        title: 'Deploy windows',
        content: mondays,
        detect_conflicts: false,
      });
      await until('it is flagged', async () => {
        const got = await ask(again.address.port, 'GET', `/memories/${body['id']}`);
        const { near_duplicates } = got.body['memory'] as { near_duplicates?: Near };
        return near_duplicates?.[0]?.id === first;
      });
    } finally {
      await again.stop();
    }
  });

  it('are not flagged where the operator wants no look', async () => {
    const { daemon, home, store } = await open('near-off', { nearDuplicate: 'off' });
    try {
      await store({ title: 'Deploy window', content: sundays });
      const second = await store({ title: 'Deploy windows', content: mondays });
      assert.ok(second);
    } finally {
      await daemon.stop();
    }
    const beside = new BesideDatabase(home);
    assert.equal(beside.rows('near_duplicates'), 0);
    beside.close();
  });
});
