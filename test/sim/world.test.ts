import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { auditDatabase } from '../support/log-audit.js';
import { Dice } from './dice.js';
import { SimNetwork } from './network.js';
import { runScenario } from './scenario.js';
import { type JoinMesh, SimNode } from './sim-node.js';
import { SimKeys, WallClock } from './sim-seams.js';
import { solo } from './solo.js';
import { World } from './world.js';

const OPERATOR = {
  agentId: 'tester',
  claimed: 'explicit',
  viewer: { all: true, agentId: 'tester', asNamespace: null },
  admin: true,
  local: false,
} as const;

function nodesOf(world: World, count: number, join: JoinMesh = solo) {
  const network = new SimNetwork(world);
  const keys = new SimKeys();
  const nodes: SimNode[] = [];
  for (let index = 0; index < count; index += 1) {
    nodes.push(
      new SimNode({
        world,
        network,
        keys,
        name: `n${index}`,
        join,
        mutant: null,
        quorumWrites: 1,
        wall: new WallClock(world, 1_772_323_200_000, 0, 0),
        settings: {},
        onCommit: () => undefined,
        onBug: (node, stack) => world.violate(node.name, 'bug', stack),
      }),
    );
  }
  return { network, nodes };
}

/** Stores a row; answers a record of what the client hears. */
function store(node: SimNode, title: string): { status: string } {
  const heard = { status: 'nothing' };
  void node.operate('memory_store', { title, content: title }, OPERATOR).then((answer) => {
    heard.status = answer.ok ? 'stored' : answer.error.code;
  });
  return heard;
}

const titles = (node: SimNode) => node.disk.db.prepare('SELECT title FROM memories').pluck().all();

describe('the simulated world', () => {
  it('makes one history of a seed, and another of another', async () => {
    const run = (seed: number) => runScenario({ seed, join: solo, safetyOnly: true });
    const [first, again, other] = [await run(7), await run(7), await run(8)];
    assert.deepEqual(first.violations, []);
    assert.ok(first.operations > 10);
    assert.equal(again.digest, first.digest);
    assert.notEqual(other.digest, first.digest);
  });

  it('gives each purpose a generator of its own', () => {
    const draw = (purpose: string) =>
      Array.from({ length: 4 }, new Dice(1, purpose).unit.bind(new Dice(1, purpose)));
    assert.deepEqual(draw('a'), draw('a'));
    assert.notDeepEqual(draw('a'), draw('b'));
  });

  it('orders events by time and then by their planning, and holds those of a frozen place back', async () => {
    const world = new World(1);
    const seen: string[] = [];
    const note = (text: string) => () => seen.push(`${text} at ${world.nowMs}`);
    world.after(5, 'a', 'x', note('late'));
    world.after(1, 'a', 'x', note('first'));
    world.after(1, 'a', 'x', note('second'));
    world.after(2, null, 'x', () => world.freeze('a'));
    world.after(9, null, 'x', () => world.thaw('a'));
    await world.run(20);
    assert.deepEqual(seen, ['first at 1', 'second at 1', 'late at 9']);
  });

  it('lets chains of promises end between two events', async () => {
    const world = new World(1);
    const seen: string[] = [];
    world.after(1, null, 'x', () => {
      void (async () => {
        for (let step = 0; step < 50; step += 1) await Promise.resolve();
        seen.push('chain');
      })();
    });
    world.after(1, null, 'x', () => seen.push('next'));
    await world.run(2);
    assert.deepEqual(seen, ['chain', 'next']);
  });

  it('loses what was not synced when a node crashes, and answers nobody', async () => {
    const world = new World(1);
    const { nodes } = nodesOf(world, 1);
    const [node] = nodes as [SimNode];
    await node.start();
    const kept = store(node, 'kept');
    await world.run(50);
    assert.equal(kept.status, 'stored');
    node.nextCrash = 'before';
    const lost = store(node, 'lost');
    await world.run(100);
    assert.equal(node.up, false);
    assert.equal(lost.status, 'nothing');
    assert.deepEqual(titles(node), ['kept']);
    await node.start();
    const later = store(node, 'later');
    await world.run(150);
    assert.equal(later.status, 'stored');
    assert.deepEqual(auditDatabase(node.disk.db), []);
    node.disk.close();
  });

  it('keeps what was synced when a node crashes before its answer', async () => {
    const world = new World(1);
    const { nodes } = nodesOf(world, 1);
    const [node] = nodes as [SimNode];
    await node.start();
    node.nextCrash = 'after';
    const heard = store(node, 'kept');
    await world.run(50);
    assert.equal(heard.status, 'nothing');
    assert.deepEqual(titles(node), ['kept']);
    node.disk.close();
  });

  it('shows readers only what is durable', async () => {
    const world = new World(1);
    const { nodes } = nodesOf(world, 1);
    const [node] = nodes as [SimNode];
    Object.assign(node.pace, { syncMinMs: 100, syncMaxMs: 100, lateReads: 0 });
    await node.start();
    void store(node, 'held');
    await world.run(10);
    assert.equal(node.disk.held, true);
    assert.equal(node.disk.durableCommits(), 0);
    let counted = -1;
    const read = node.run!.services.store.query({ kind: 'log-position' });
    void read.then((position) => {
      counted = position.ok ? position.value.commitSequence : -2;
    });
    await world.run(20);
    assert.equal(counted, -1, 'a reader waits for the sync');
    await world.run(200);
    assert.equal(counted, 1);
    node.disk.close();
  });

  it('refuses writes on a full disk and after a failed sync, and goes on afterwards', async () => {
    const world = new World(1);
    const { nodes } = nodesOf(world, 1);
    const [node] = nodes as [SimNode];
    await node.start();
    node.disk.failNextCommit = true;
    const failed = store(node, 'failed');
    await world.run(50);
    node.disk.fill();
    const large = store(node, `large ${'x'.repeat(400)}`);
    for (let index = 0; index < 60; index += 1) store(node, `filler ${index} ${'y'.repeat(400)}`);
    const full = store(node, 'full');
    await world.run(200);
    node.disk.empty();
    const after = store(node, 'after');
    await world.run(300);
    assert.deepEqual(
      [failed.status, full.status, after.status],
      ['DATABASE_ERROR', 'STORAGE_FULL', 'stored'],
    );
    assert.ok(['stored', 'STORAGE_FULL'].includes(large.status));
    assert.ok(!titles(node).includes('failed'));
    assert.deepEqual(auditDatabase(node.disk.db), []);
    node.disk.close();
  });

  it('carries messages, cuts links one way, and says nothing to the dead', async () => {
    const world = new World(1);
    const taken: string[] = [];
    const echo: JoinMesh = (run) =>
      Promise.resolve({
        receive: () => {
          taken.push(run.node.name);
          return Promise.resolve({ status: 200, body: new Uint8Array([1]) });
        },
        operate: null,
        stop: () => Promise.resolve(),
        remaining: () => [],
      });
    const { network, nodes } = nodesOf(world, 2, echo);
    const [left, right] = nodes as [SimNode, SimNode];
    await left.start();
    await right.start();
    const heard: string[] = [];
    const send = (from: SimNode, to: SimNode) => {
      const transport = network.transport(from.name, from.run!.alive);
      const request = {
        method: 'POST',
        path: '/x',
        query: '',
        headers: {},
        body: new Uint8Array([7]),
      } as const;
      void transport.send(to.peer, request, 100).then((reply) => heard.push(reply.kind));
    };
    send(left, right);
    await world.run(200);
    network.cut('n1', 'n0');
    send(left, right);
    send(right, left);
    await world.run(400);
    network.mend();
    right.crash();
    send(left, right);
    await world.run(600);
    send(left, right);
    left.crash();
    await world.run(900);
    // The second message had its effect; only its answer was lost.
    assert.deepEqual(taken, ['n1', 'n1']);
    assert.deepEqual(heard, ['answer', 'timeout', 'timeout', 'unreachable']);
    for (const node of nodes) node.disk.close();
  });

  it('puts an old backup back', async () => {
    const world = new World(1);
    const { nodes } = nodesOf(world, 1);
    const [node] = nodes as [SimNode];
    await node.start();
    store(node, 'old');
    await world.run(50);
    const image = node.disk.backup();
    store(node, 'new');
    await world.run(100);
    node.crash();
    node.disk.restore(image);
    assert.deepEqual(titles(node), ['old']);
    await node.start();
    const heard = store(node, 'newer');
    await world.run(150);
    assert.equal(heard.status, 'stored');
    assert.deepEqual(auditDatabase(node.disk.db), []);
    node.disk.close();
  });
});
