import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Memory } from '../../protocol/memory/memory.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { type EntropyNode, startEntropyMesh } from '../support/entropy-mesh.js';
import { type DatabaseFacts, databaseFacts, digestsOf } from '../support/formats/database-facts.js';
import {
  databaseOf,
  type Expected,
  expectedMeshOf,
  expectedOf,
  formatsKept,
} from '../support/formats/format-folders.js';
import { asked, heldBy, stored } from '../support/formats/format-mesh.js';
import { formatPeer, formatPeers, openFormat } from '../support/formats/format-node.js';
import { startMoved, unpackedMesh } from '../support/formats/kept-mesh.js';
import { deleting, linking, storing, updating } from '../support/memories.js';
import { until } from '../support/wait.js';
import type { ProcessMesh } from './processes/process-mesh.js';

const EQUAL_WITHIN_MS = 20_000;
const FROM_SCOPE = ['out_of_scope', 'elsewhere'];

for (const format of formatsKept()) {
  describe(`a database of format ${format} in a mesh with a new node`, () => {
    let expected: Expected;
    let mesh: ReturnType<typeof startEntropyMesh>;
    let [old, fresh]: EntropyNode[] = [];

    before(() => {
      expected = expectedOf(format);
      const path = databaseOf(format, temporaryFolder('format'));
      mesh = startEntropyMesh(['ash', 'fresh'], {
        replicas: { ash: openFormat(path, 'ash', Date.now(), '00000000feedfeed') },
        others: formatPeers('departed').filter(({ peerId }) => peerId !== formatPeer('ash').peerId),
      });
      [old, fresh] = [mesh.node('ash'), mesh.node('fresh')];
    });
    after(() => mesh.stop());

    /** What both show, once their digests are equal and each found so. */
    async function settled(): Promise<readonly [DatabaseFacts, DatabaseFacts]> {
      await eventually(async () => (await stateOf(old!)) === (await stateOf(fresh!)));
      for (const each of [old!, fresh!]) {
        const from = each.outcomes().length;
        await eventually(() => each.outcomes().slice(from).includes('equal'));
        assert.deepEqual(each.replica.audit(), []);
      }
      return [await factsOf(old!), await factsOf(fresh!)];
    }

    it('gives it everything', async () => {
      const [here, there] = await settled();
      assert.deepEqual(here.memories, expected.facts.memories);
      assertSame(there, here);
      assert.deepEqual(parkedOf(there), toldOf(expected.facts));
      assert.deepEqual(logged(there), logged(expected.facts));
    });

    it('agrees with it on what both write meanwhile', async () => {
      const ids = Object.entries(expected.facts.memories)
        .filter(([, row]) => (row as Memory).tier === 'long' && (row as Memory).namespace !== '_agents')
        .map(([id]) => id);
      const [both, one, gone, other] = ids as [string, string, string, string];
      await Promise.all([
        old!.replica.run(updating(both, { content: 'as the old database has it' })),
        fresh!.replica.run(updating(both, { content: 'as the new one has it' })),
        old!.replica.run(updating(one, { title: 'Named by the old database' })),
        fresh!.replica.run(updating(one, { tags: ['fresh'] })),
        fresh!.replica.run(deleting(gone)),
        old!.replica.run(linking(both, one)),
        fresh!.replica.run(linking(other, both)),
        old!.replica.run(storing({ title: 'New on both', content: 'of the old database' })),
        fresh!.replica.run(storing({ title: 'New on both', content: 'of the new one' })),
      ]);
      const [here, there] = await settled();
      assertSame(there, here);
      assert.equal(Object.keys(here.memories).length, Object.keys(expected.facts.memories).length + 1);
      assert.equal(here.memories[gone], undefined);
      const added = Object.keys(logged(here)).length - Object.keys(logged(expected.facts)).length;
      assert.equal(added, 9);
      assert.deepEqual(parkedOf(here), parkedOf(expected.facts));
      assert.deepEqual(parkedOf(there), toldOf(expected.facts));
      const titled = Object.values(here.memories).filter((row) => (row as Memory).title === 'New on both');
      assert.equal(titled.length, 2);
    });
  });
}

for (const format of formatsKept()) {
  describe(`a mesh of format ${format} whose nodes run this release`, () => {
    const expected = expectedMeshOf(format);
    let mesh: ProcessMesh;
    before(async () => {
      mesh = await unpackedMesh(format);
    });
    after(() => mesh.close());

    it('knows itself', async () => {
      for (const node of mesh.nodes) {
        const status = JSON.parse(await node.must(['mesh', 'status', '--json'])) as Record<string, unknown>;
        assert.deepEqual([status['mesh_id'], status['peer_id']], [expected.mesh_id, node.peerId]);
      }
    });

    it('comes up again at other places, equal', async () => {
      await startMoved(mesh, (node) => mesh.join(node));
      assert.deepEqual(
        mesh.nodes.map(({ peerId }) => peerId),
        expected.peer_ids,
      );
      await mesh.drain(EQUAL_WITHIN_MS);
      for (const node of mesh.nodes)
        for (const [id, row] of Object.entries(expected.facts.memories)) {
          const shown = (await asked(node, 'GET', `/memories/${id}`)).body['memory'] as Memory;
          const { title, content, version } = row as Memory;
          assert.deepEqual([shown.title, shown.content, shown.version], [title, content, version]);
        }
    });

    it('takes writes on each node, and ends equal', async () => {
      const shared = idOf('Edited on all sides');
      const gone = idOf('Alone at n2');
      const written = await Promise.all(
        mesh.nodes.map(async (node, index) => {
          const id = await stored(node, `New at ${node.name}`, 'team');
          await asked(node, 'PUT', `/memories/${shared}`, { content: `edited again at ${node.name}` });
          const other = idOf(`third of n${index}`);
          await asked(node, 'PUT', `/memories/${other}`, { tags: [node.name] });
          return id;
        }),
      );
      await asked(mesh.nodes[1]!, 'DELETE', `/memories/${gone}`);
      await mesh.drain(EQUAL_WITHIN_MS);
      await mesh.end();
      const [first, ...others] = await Promise.all(mesh.nodes.map(heldBy));
      for (const other of others) {
        assertSame(other, first!);
        assert.deepEqual(logged(other), logged(first!));
      }
      const ids = [...Object.keys(expected.facts.memories), ...written].filter((id) => id !== gone);
      assert.deepEqual(Object.keys(first!.memories).sort(), ids.sort());
      assert.deepEqual(first!.links, expected.facts.links);
      assert.ok(Object.keys(first!.tombstones).includes(gone));
      for (const held of [first!, ...others]) assert.deepEqual(parkedOf(held), parkedOf(expected.facts));
      const before = Object.keys(expected.facts.log);
      assert.deepEqual(
        before.filter((opId) => logged(first!)[opId]?.hash !== expected.facts.log[opId]!.hash),
        [],
      );
    });

    function idOf(title: string): string {
      const rows = Object.entries(expected.facts.memories);
      return rows.find(([, row]) => (row as Memory).title === title)![0];
    }
  });
}

/** Where the chains of all origins end, and the digests. */
async function stateOf({ replica: { store } }: EntropyNode): Promise<string> {
  const known = await store.query({ kind: 'known-origins' });
  assert.ok(known.ok);
  const heads = Object.entries(known.value.heads).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([heads, await digestsOf(store)]);
}

const factsOf = async ({ replica: { store, db } }: EntropyNode): Promise<DatabaseFacts> =>
  JSON.parse(JSON.stringify(await databaseFacts(store, db))) as DatabaseFacts;

/** The same rows; how often a row was read is each node's own. */
function assertSame(one: DatabaseFacts, other: DatabaseFacts): void {
  assert.deepEqual(replicated(one.memories), replicated(other.memories));
  assert.deepEqual(one.links, other.links);
  assert.deepEqual(Object.keys(one.tombstones), Object.keys(other.tombstones));
  assert.deepEqual(lost(one), lost(other));
  assert.deepEqual(one.agents, other.agents);
}

/** What lost against something; against which of several later ones is as a node heard of them. */
const lost = ({ conflicts }: DatabaseFacts) => conflicts.map(({ winner: _, ...conflict }) => conflict);

const replicated = (memories: DatabaseFacts['memories']) =>
  Object.entries(memories as Record<string, Record<string, unknown>>).map(
    ([id, { access_count: _count, last_accessed_at: _at, ...row }]) => [id, row],
  );

/** Operations that have no effect, and why; that a node may not hold something has two names. */
const parkedOf = ({ log }: Pick<DatabaseFacts, 'log'>) =>
  Object.entries(log).flatMap(([opId, { parked }]) =>
    parked === null ? [] : [[opId, FROM_SCOPE.includes(parked) ? 'out_of_scope' : parked]],
  );

/** The same as another node is told it: what was let go there has no payload for others. */
const toldOf = ({ log }: Pick<DatabaseFacts, 'log'>) =>
  parkedOf({
    log: Object.fromEntries(
      Object.entries(log).map(([opId, logged]) => {
        const parked = logged.parked ?? (logged.payload ? null : 'out_of_scope');
        return [opId, { ...logged, parked }];
      }),
    ),
  });

/** What was written, whatever became of it. */
const logged = ({ log }: Pick<DatabaseFacts, 'log'>) =>
  Object.fromEntries(
    Object.entries(log)
      // An upgrade of a form gives standards, which stood in no log, a place in it.
      .filter(([, { kind }]) => kind !== 'standard.put')
      .map(([opId, { parked: _, payload: __, ...header }]) => [opId, header]),
  );

const eventually = (holds: () => boolean | Promise<boolean>) =>
  until('the two are equal', holds, { withinMs: EQUAL_WITHIN_MS });
