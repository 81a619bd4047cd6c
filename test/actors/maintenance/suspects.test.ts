import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SuspectsJob } from '../../../actors/maintenance/suspects.js';
import { aMemory, storing, updating } from '../../support/memories.js';
import { replica } from '../../support/replicas.js';
import { ofMemories } from '../../support/subjects.js';

const START_MS = 1_772_000_000_000;

async function job() {
  const one = replica('a', START_MS);
  const ids: string[] = [];
  for (const title of ['first', 'second']) {
    const memory = aMemory({ title, content: `the content of ${title}`, namespace: 'team' });
    ids.push(memory.id);
    await one.run(storing(memory));
  }
  let repairs = 0;
  const told: string[] = [];
  const tell = (facts: object) => told.push(String((facts as { code?: string }).code));
  const suspects = new SuspectsJob({
    store: one.store,
    verifier: {
      ready: () => Promise.resolve(),
      singles: () => {
        repairs += 1;
        return [];
      },
    },
    askBack: () => Promise.resolve([]),
    clock: { monotonicMs: () => one.nowMs },
    log: { debug() {}, info() {}, warn: tell, error: tell },
  });
  const marked = () => one.db.prepare('SELECT id FROM suspects').pluck().all();
  const lose = (id: string) =>
    one.db.prepare('UPDATE operations SET payload = NULL WHERE subject = ?').run(id);
  return { one, ids: ids as [string, string], suspects, told, marked, lose, repairs: () => repairs };
}

it('a marked row that is sound is marked no more, and one that is damaged is repaired', async () => {
  const { one, ids, suspects, told, marked } = await job();
  one.db.prepare("UPDATE memories SET content = 'damaged' WHERE id = ?").run(ids[1]);
  await one.run({ kind: 'note-suspects', subjects: ofMemories(ids) });
  await suspects.round();
  assert.deepEqual([marked(), told, one.audit()], [[], ['DAMAGE_REPAIRED'], []]);
});

it('a row that cannot be repaired rests, however often it is asked for, until a peer is back', async () => {
  const { one, ids, suspects, told, marked, lose, repairs } = await job();
  one.db.prepare("UPDATE memories SET tags = '[' WHERE id = ?").run(ids[0]);
  lose(ids[0]);
  await one.store.execute(updating(ids[0], { priority: 9 }));
  await suspects.round();
  assert.deepEqual([marked(), told, repairs()], [[ids[0]], ['DAMAGE_LEFT'], 2]);
  for (let n = 0; n < 3; n += 1) {
    await one.store.execute(updating(ids[0], { priority: 9 }));
    await suspects.round();
  }
  assert.equal(repairs(), 2);
  suspects.retry();
  await suspects.round();
  assert.equal(repairs(), 4);
  one.nowMs += 30_000;
  await suspects.round();
  assert.equal(repairs(), 6);
});

it('a readable row stays marked where no log tells what it was', async () => {
  const { one, ids, suspects, told, marked, lose } = await job();
  one.db.prepare("UPDATE memories SET content = 'all that is left' WHERE id = ?").run(ids[0]);
  lose(ids[0]);
  await one.store.execute(updating(ids[0], { priority: 9 }));
  await suspects.round();
  assert.deepEqual([marked(), told], [[ids[0]], ['DAMAGE_LEFT']]);
  assert.ok(!(await one.store.execute(updating(ids[0], { priority: 9 }))).ok);
});
