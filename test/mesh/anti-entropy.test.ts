import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type EntropyNode, startEntropyMesh } from '../support/entropy-mesh.js';
import { aMemory, OPERATOR, storing } from '../support/memories.js';
import { until } from '../support/wait.js';

type Started = ReturnType<typeof startEntropyMesh>;
const started: Started[] = [];
function start(...args: Parameters<typeof startEntropyMesh>): Started {
  const made = startEntropyMesh(...args);
  started.push(made);
  return made;
}
afterEach(async () => {
  for (const each of started.splice(0)) await each.stop();
});

const updating = (id: string, patch: Record<string, unknown>) =>
  ({ kind: 'update-memory', id, patch, expectedVersion: null, viewer: OPERATOR, archive: true }) as const;

const rowsOf = ({ db }: EntropyNode, where = '1') =>
  db.prepare(`SELECT id, title, content, namespace, version FROM memories WHERE ${where} ORDER BY id`).all();
const digestsOf = ({ db }: EntropyNode) =>
  db
    .prepare('SELECT kind, namespace, hex(digest) AS digest FROM namespace_digests ORDER BY kind, namespace')
    .all();
const operationsOf = ({ db }: EntropyNode) =>
  db.prepare('SELECT count(*) FROM operations').pluck().get() as number;

/** Both have what the one wrote, and both have compared. */
async function alike(a: EntropyNode, b: EntropyNode): Promise<void> {
  await until(
    'both have the same digests',
    () => JSON.stringify(digestsOf(a)) === JSON.stringify(digestsOf(b)),
  );
  for (const each of [a, b]) {
    const before = each.outcomes().length;
    await until('both have compared', () => each.outcomes().slice(before).includes('equal'));
    assert.deepEqual(each.replica.audit(), []);
  }
}

async function furnished(mesh: Started, count = 8): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const memory = aMemory({
      title: `memory ${i}`,
      content: `content ${i}`,
      namespace: i % 2 ? 'team' : 'open',
    });
    ids.push(memory.id);
    await mesh.node('a').replica.run(storing(memory));
  }
  await alike(mesh.node('a'), mesh.node('b'));
  return ids;
}

describe('anti-entropy between two nodes', () => {
  it('finds and repairs damaged, missing and surplus rows, with no operation made for it', async () => {
    const mesh = start(['a', 'b']);
    const [a, b] = [mesh.node('a'), mesh.node('b')];
    const ids = await furnished(mesh);
    const [rows, operations] = [rowsOf(a), operationsOf(a)];
    b.db.prepare("UPDATE memories SET content = 'flipped', digest = zeroblob(32) WHERE id = ?").run(ids[0]);
    b.db.prepare('DELETE FROM memories WHERE id = ?').run(ids[1]);
    b.db
      .prepare(
        `INSERT INTO memories (id, tier, namespace, title, content, created_at, updated_at, ns_id, digest)
         SELECT 'nobody', tier, namespace, 'smuggled', content, created_at, updated_at, ns_id, digest
         FROM memories WHERE id = ?`,
      )
      .run(ids[2]);
    b.db.prepare('UPDATE namespace_digests SET digest = randomblob(32)').run();
    await until('the rows are repaired', () => JSON.stringify(rowsOf(b)) === JSON.stringify(rows));
    await alike(a, b);
    assert.deepEqual(rowsOf(a), rows);
    assert.deepEqual([operationsOf(a), operationsOf(b)], [operations, operations]);
    assert.ok(b.outcomes().includes('repaired'));
    // The node whose rows were right has nothing to repair, and nobody rings an alarm for what heals.
    assert.ok(!a.outcomes().includes('repaired'));
    assert.deepEqual([a.mesh.status().diverged, b.mesh.status().diverged], [0, 0]);
    assert.equal(b.mesh.status().peers[0]!.rows, 'equal');
  });

  it('fetches payloads that a log lost', async () => {
    const mesh = start(['a', 'b']);
    const [a, b] = [mesh.node('a'), mesh.node('b')];
    const ids = await furnished(mesh);
    b.db.prepare('UPDATE operations SET payload = NULL WHERE subject = ?').run(ids[0]);
    b.db.prepare("UPDATE operations SET payload = '{}' WHERE subject = ?").run(ids[1]);
    b.db.prepare('DELETE FROM memories WHERE id IN (?, ?)').run(ids[0], ids[1]);
    b.db.prepare('UPDATE namespace_digests SET digest = randomblob(32)').run();
    await until('the rows are equal again', () => JSON.stringify(rowsOf(a)) === JSON.stringify(rowsOf(b)));
    await alike(a, b);
    assert.equal(b.db.prepare('SELECT count(*) FROM operations WHERE payload IS NULL').pluck().get(), 0);
  });

  it('rings an alarm when nobody has what is missing, and takes it back when somebody has', async () => {
    const mesh = start(['a', 'b']);
    const [a, b] = [mesh.node('a'), mesh.node('b')];
    const ids = await furnished(mesh, 4);
    const payload = a.db.prepare('SELECT payload FROM operations WHERE subject = ?').pluck().get(ids[0]);
    for (const { db, peerId } of [a, b]) {
      db.prepare('UPDATE operations SET payload = NULL WHERE subject = ?').run(ids[0]);
      db.prepare('UPDATE memories SET content = ?, digest = randomblob(32) WHERE id = ?').run(peerId, ids[0]);
    }
    b.db.prepare("UPDATE namespace_digests SET digest = zeroblob(32) WHERE namespace = 'open'").run();
    await until(
      'both ring the alarm',
      () => b.mesh.status().diverged === 1 && a.mesh.status().diverged === 1,
    );
    assert.ok(b.log.lines.some(({ fields }) => fields['code'] === 'MESH_DIVERGED'));
    assert.deepEqual(b.mesh.status().peers[0]!.differing, ['open']);
    a.db.prepare('UPDATE operations SET payload = ? WHERE subject = ?').run(payload, ids[0]);
    await until('neither rings the alarm', () => a.mesh.status().diverged + b.mesh.status().diverged === 0);
    await alike(a, b);
  });

  it('brings the payloads of a scope that was widened, and takes a memory away that moved out of it', async () => {
    const mesh = start(['a', 'b'], { scopes: { b: ['open'] } });
    const [a, b] = [mesh.node('a'), mesh.node('b')];
    const ids: string[] = [];
    for (const namespace of ['open', 'team', 'open']) {
      const memory = aMemory({ title: `in ${namespace} ${ids.length}`, namespace });
      ids.push(memory.id);
      await a.replica.run(storing(memory));
    }
    await until('what is in scope arrives', () => rowsOf(b).length === 2 && operationsOf(b) === 3);
    assert.deepEqual(rowsOf(a, "namespace = 'open'"), rowsOf(b));
    await until('the two have compared', () => b.outcomes().includes('equal'));

    await a.replica.run(updating(ids[0]!, { namespace: 'team' }));
    await until('the memory is taken away', () => rowsOf(b).length === 1);
    assert.deepEqual(b.replica.audit(), []);
    await until('the two are equal', () => b.outcomes().at(-1) === 'equal');

    a.roster.list = [mesh.asPeer('b', { allowedNamespaces: null })];
    // Links take the scope from the roster at their next message.
    a.mesh.differing(b.peerId);
    await until('all rows arrive', () => JSON.stringify(rowsOf(a)) === JSON.stringify(rowsOf(b)));
    assert.deepEqual(rowsOf(b).length, 3);
    await until('the digests are equal', () => JSON.stringify(digestsOf(a)) === JSON.stringify(digestsOf(b)));
    assert.deepEqual(b.replica.audit(), []);
    assert.equal(b.db.prepare('SELECT count(*) FROM operations WHERE parked IS NOT NULL').pluck().get(), 0);
  });
});
