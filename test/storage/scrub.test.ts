import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { problemsOf } from '../../actors/mesh/scrub-duty.js';
import { aMemory, OPERATOR, storing } from '../support/memories.js';
import { type Replica, replica } from '../support/replicas.js';
import { scrubbed } from '../support/scrubbed.js';

const START_MS = 1_772_000_000_000;

async function furnished() {
  const one = replica('a', START_MS);
  const ids: string[] = [];
  for (let i = 0; i < 30; i += 1) {
    const memory = aMemory({ title: `memory ${i}`, content: `words of number ${i}`, tags: [`tag${i}`] });
    ids.push(memory.id);
    await one.run(storing(memory));
  }
  for (const id of ids.slice(0, 5))
    await one.run({
      kind: 'update-memory',
      id,
      patch: { content: `edited ${id}` },
      expectedVersion: null,
      viewer: OPERATOR,
      archive: true,
    });
  await one.run({ kind: 'delete-memory', id: ids[29]!, viewer: OPERATOR, archive: true });
  const other = replica('b', START_MS);
  await other.apply(await one.read());
  return { one, other, ids };
}

const rows = ({ db }: Replica) =>
  db.prepare('SELECT id, title, content, version, hex(digest) AS digest FROM memories ORDER BY id').all();

describe('a scrub', () => {
  it('finds nothing where everything is as it was', async () => {
    const { one, other } = await furnished();
    for (const each of [one, other]) {
      const report = await scrubbed(each);
      assert.equal(problemsOf(report), 0, JSON.stringify(report));
      assert.deepEqual([report.rows, report.operations, report.complete], [29, 36, true]);
    }
  });

  const broken = {
    damaged: "UPDATE operations SET hlc = '9' || substr(hlc, 2) WHERE origin_seq = 2",
    gone: 'DELETE FROM operations WHERE origin_seq = 2',
  };
  for (const [name, sql] of Object.entries(broken)) {
    it(`takes the header of an operation back whose payload all have let go: ${name}`, async () => {
      const { one, other } = await furnished();
      for (const { db } of [one, other])
        db.prepare('UPDATE operations SET payload = NULL WHERE origin_seq = 2').run();
      other.db.prepare(sql).run();
      const alone = await scrubbed(other);
      assert.deepEqual([alone.restored_operations, alone.lost], [0, ['peer-a/epocha/2']]);
      const report = await scrubbed(other, one);
      assert.deepEqual([report.restored_operations, report.lost], [1, []]);
      assert.deepEqual([await other.read(), other.audit()], [await one.read(), []]);
      const again = await scrubbed(other, one);
      assert.deepEqual([again.restored_operations, again.damaged_operations], [0, 0]);
    });
  }

  it('does not take a header where somebody may only keep the payload back', async () => {
    const { one, other } = await furnished();
    // The operation that a row is of: nobody may have let its payload go.
    const seq = 20;
    one.db.prepare('UPDATE operations SET payload = NULL WHERE origin_seq = ?').run(seq);
    one.db.prepare('DELETE FROM memories WHERE origin_seq = ?').run(seq);
    other.db.prepare('DELETE FROM operations WHERE origin_seq = ?').run(seq);
    const before = rows(other);
    const report = await scrubbed(other, one);
    assert.deepEqual([report.restored_operations, report.lost], [0, [`peer-a/epocha/${seq}`]]);
    assert.deepEqual(rows(other), before);
    const beyond = (await other.read()).filter((each) => each.seq >= seq);
    assert.deepEqual(beyond, [], 'a page ends before it');
  });

  it('finds nothing wrong with rows of concurrent versions', async () => {
    const { one, other, ids } = await furnished();
    for (const [each, content] of [
      [one, 'here'],
      [other, 'there'],
    ] as const)
      await each.run({
        kind: 'update-memory',
        id: ids[7]!,
        patch: { content },
        expectedVersion: null,
        viewer: OPERATOR,
        archive: true,
      });
    await one.apply(await other.read());
    assert.equal(one.db.prepare('SELECT count(*) FROM siblings').pluck().get(), 2);
    assert.equal(problemsOf(await scrubbed(one)), 0);
  });

  it('looks only, when it is asked to', async () => {
    const { one, ids } = await furnished();
    one.db.prepare("UPDATE memories SET title = 'flipped' WHERE id = ?").run(ids[3]);
    const before = rows(one);
    const report = await scrubbed(one, null, true);
    assert.deepEqual(report.repaired, [{ subject: ids[3], namespace: 'global', problem: 'damaged' }]);
    assert.deepEqual(rows(one), before);
  });

  it('finds a flipped byte in content, title, digest, namespace digest and row of a memory', async () => {
    const { one, ids } = await furnished();
    const before = rows(one);
    one.db.prepare("UPDATE memories SET content = 'flipped' WHERE id = ?").run(ids[0]);
    one.db.prepare("UPDATE memories SET title = 'flipped' WHERE id = ?").run(ids[10]);
    one.db.prepare('UPDATE memories SET digest = randomblob(32) WHERE id = ?').run(ids[11]);
    one.db.prepare('DELETE FROM memories WHERE id = ?').run(ids[12]);
    one.db.prepare("UPDATE memories SET metadata = '{' || substr(metadata, 2) WHERE id = ?").run(ids[13]);
    one.db.prepare('UPDATE namespace_digests SET digest = randomblob(32)').run();
    one.db.prepare("UPDATE memories SET id = 'another' WHERE id = ?").run(ids[14]);
    one.db.prepare("UPDATE memories SET seen = '{}' WHERE id = ?").run(ids[15]);
    one.db.prepare("UPDATE memories SET hlc = '0' || substr(hlc, 2) WHERE id = ?").run(ids[16]);
    const report = await scrubbed(one);
    const problems = report.repaired.map(({ subject, problem }) => `${problem} ${subject}`).sort();
    const expected = [
      `damaged ${ids[0]}`,
      `damaged ${ids[10]}`,
      `damaged ${ids[11]}`,
      `damaged ${ids[15]}`,
      `damaged ${ids[16]}`,
      `missing ${ids[12]}`,
      `missing ${ids[14]}`,
      'surplus another',
    ].sort();
    assert.deepEqual(problems, expected);
    assert.deepEqual(report.digests, ['global']);
    assert.deepEqual(rows(one), before);
    assert.deepEqual(one.audit(), []);
    assert.equal(problemsOf(await scrubbed(one)), 0);
  });

  it('finds a row whose digest was changed with its text', async () => {
    const { one, other, ids } = await furnished();
    // What a forger would write: it fits to itself, and not to the log.
    const { digest } = other.db.prepare('SELECT digest FROM memories WHERE id = ?').get(ids[9]) as {
      digest: Buffer;
    };
    one.db.prepare('UPDATE memories SET digest = ?, content = ? WHERE id = ?').run(digest, 'forged', ids[8]);
    const report = await scrubbed(one);
    assert.equal(report.repaired[0]!.subject, ids[8]);
    assert.deepEqual(rows(one), rows(other));
  });

  it('finds a flipped byte in a payload, and takes it from the row, or from a peer', async () => {
    const { one, other, ids } = await furnished();
    const flip = (id: string, which: string) =>
      one.db
        .prepare(`UPDATE operations SET payload = 'X' || substr(payload, 2) WHERE subject = ? AND kind = ?`)
        .run(id, which);
    flip(ids[20]!, 'store');
    const alone = await scrubbed(one);
    assert.deepEqual([alone.damaged_operations, alone.restored_operations, alone.lost_count], [1, 1, 0]);
    // The first text of a memory that was edited is in no row.
    flip(ids[2]!, 'store');
    const lost = await scrubbed(one);
    assert.deepEqual([lost.damaged_operations, lost.restored_operations], [1, 0]);
    assert.deepEqual(lost.lost, ['peer-a/epocha/3']);
    const helped = await scrubbed(one, other);
    assert.deepEqual([helped.restored_operations, helped.lost_count], [1, 0]);
    assert.deepEqual(one.audit(), []);
  });

  it('finds operations that are gone, at the beginning, in a row and at the end', async () => {
    const { one, other } = await furnished();
    one.db.prepare('DELETE FROM operations WHERE origin_seq IN (1, 10, 11, 12, 36)').run();
    assert.notDeepEqual(one.audit(), []);
    const report = await scrubbed(one, other);
    assert.deepEqual([report.damaged_operations, report.restored_operations, report.lost_count], [5, 5, 0]);
    assert.deepEqual(one.audit(), []);
  });

  it('finds a header that is not what its chain says', async () => {
    const { one, other } = await furnished();
    one.db.prepare("UPDATE operations SET namespace = 'x' WHERE origin_seq = 7").run();
    one.db.prepare('UPDATE operations SET prev_hash = ? WHERE origin_seq = 15').run('0'.repeat(64));
    const report = await scrubbed(one, other);
    assert.equal(report.lost_count, 0, JSON.stringify(report.lost));
    assert.deepEqual(one.audit(), []);
  });
});
