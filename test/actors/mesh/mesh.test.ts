import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ok } from '../../../protocol/base/result.js';
import type { PeerReply } from '../../../protocol/wire/transport.js';
import { json, member, OWN, operation, Stage } from './scripted.js';

/** A stage with one peer, whose pushes are held until they are released, by their number, and then answered. */
async function heldPushes(answer: PeerReply | null = null) {
  const stage = await new Stage(1).start();
  const peer = stage.peers[0]!;
  peer.has[OWN] = 0;
  const held: (() => void)[] = [];
  peer.instead = ({ method }) =>
    method === 'POST' ? new Promise((resolve) => held.push(() => resolve(answer))) : null;
  return { stage, peer, release: (push: number) => held[push]!() };
}

/** By then peers that no write waits for have what was gathered for them. */
const GATHERED_MS = 100;

describe('replication that has not started', () => {
  it('knows no peer, and writes wait until it starts', async () => {
    const { mesh, scheduler, peers } = new Stage(2).open();
    assert.deepEqual([mesh.accepting(), mesh.status().peers], [false, []]);
    const forwarded = await mesh.forward(peers[0]!.peerId, { kind: 'end-sessions' });
    assert.ok(!forwarded.ok && forwarded.error.code === 'HOME_UNREACHABLE');
    let mayWrite = false;
    const waiting = mesh.whenAccepting().then(() => {
      mayWrite = true;
    });
    await scheduler.advance(600_000);
    assert.equal(mayWrite, false);
    mesh.start();
    await scheduler.advance(GATHERED_MS);
    await waiting;
    assert.deepEqual([mesh.accepting(), mesh.status().peers.length], [true, 2]);
    await mesh.stop();
  });

  it('answers what waits when it is stopped', async () => {
    const { mesh } = new Stage(1).open();
    const waiting = mesh.whenAccepting();
    await mesh.stop();
    await waiting;
    assert.equal(mesh.accepting(), true);
    const { met, reason } = await mesh.replicated(OWN, 1, 1, 1_000_000);
    assert.deepEqual([met, reason], [false, 'stopping']);
  });
});

describe('pushing', () => {
  it('meets the peers at the start, then pushes what the log has', async () => {
    const stage = new Stage(2);
    stage.store.append(3);
    await stage.start();
    await stage.scheduler.advance(GATHERED_MS);
    assert.deepEqual(
      stage.mesh.status().peers.map(({ state, acked }) => ({ state, acked })),
      [
        { state: 'healthy', acked: 3 },
        { state: 'healthy', acked: 3 },
      ],
    );
    assert.deepEqual(
      stage.peers[0]!.pushes.map(({ operations }) => operations.map(({ seq }) => seq)),
      [[1, 2, 3]],
    );
    assert.equal(stage.peers[0]!.pushes[0]!.heads[0]!.seq, 3);
    await stage.mesh.stop();
    assert.equal(stage.scheduler.pending, 0);
  });

  it('a write is answered when W nodes have it, and reaches the others as well', async () => {
    const stage = await new Stage(3).start();
    const outcome = await stage.write();
    assert.deepEqual(outcome, { acks: 2, needed: 2, met: true, reason: null });
    await stage.scheduler.advance(GATHERED_MS);
    assert.deepEqual(
      stage.peers.map(({ has }) => has[OWN]),
      [1, 1, 1],
    );
    await stage.mesh.stop();
  });

  it('the writes of other processes are seen in the log', async () => {
    const stage = await new Stage(1).start();
    stage.store.append(2);
    await stage.scheduler.advance(50);
    assert.equal(stage.peers[0]!.has[OWN], 2);
    await stage.mesh.stop();
  });

  it('peers at the same place share one read, and each gets bytes that name it', async () => {
    const stage = await new Stage(3).start();
    const reads = stage.store.reads;
    await stage.write(5);
    await stage.scheduler.advance(GATHERED_MS);
    assert.equal(stage.store.reads - reads, 1);
    for (const { peerId, pushes } of stage.peers) assert.equal(pushes.at(-1)!.receiver, peerId);
    // A reply that is lost after its effect.
    const [peer] = stage.peers;
    let lost = 1;
    peer!.instead = (request) => {
      if (request.method !== 'POST' || lost === 0) return null;
      lost -= 1;
      return { kind: 'timeout', message: 'no answer' };
    };
    await stage.write();
    await stage.scheduler.advance(1000);
    assert.equal(peer!.has[OWN], 6);
    assert.equal(new Set(peer!.bodies).size, peer!.bodies.length);
    await stage.mesh.stop();
  });

  it('begins where the peer says that it ends', async () => {
    const stage = new Stage(1);
    stage.store.append(10);
    stage.peers[0]!.has[OWN] = 7;
    await stage.start();
    assert.deepEqual(
      stage.peers[0]!.pushes.map(({ operations }) => operations.map(({ seq }) => seq)),
      [[7, 8, 9, 10]],
    );
    // It comes back with an empty disk: the next push meets a gap.
    stage.peers[0]!.has = { 'peer-1111111111111111/e2': 0 };
    await stage.write();
    await stage.scheduler.settle();
    assert.equal(stage.peers[0]!.has[OWN], 11);
    assert.equal(stage.status().attempts, 0);
    await stage.mesh.stop();
  });

  it('batches grow from 64 to the cap', async () => {
    const stage = new Stage(1);
    stage.store.append(3000);
    await stage.start({ pushBatchMax: 1000 });
    assert.deepEqual(
      stage.peers[0]!.pushes.map(({ operations }) => operations.length),
      // Two of a size: the second is sent before the first is answered.
      [64, 64, 128, 128, 256, 256, 512, 512, 1000, 80],
    );
    await stage.mesh.stop();
  });

  it('what is written while a push is under way goes right behind it, and two are under way at most', async () => {
    const { stage, peer, release } = await heldPushes();
    const outcomes = [];
    for (const sent of [1, 2, 2, 2]) {
      outcomes.push(stage.write());
      await stage.scheduler.settle();
      assert.equal(peer.bodies.length, sent);
    }
    release(0);
    await stage.scheduler.settle();
    assert.equal(peer.bodies.length, 3);
    release(1);
    release(2);
    assert.ok((await Promise.all(outcomes)).every(({ met }) => met));
    assert.deepEqual(
      peer.pushes.map(({ operations }) => operations.map(({ seq }) => seq)),
      [[1], [2], [3, 4]],
    );
    await stage.mesh.stop();
  });

  it('a push that overtakes the one before it is sent again, and is no failure', async () => {
    const { stage, peer, release } = await heldPushes();
    const outcomes = [stage.write(), stage.scheduler.settle().then(() => stage.write())];
    await stage.scheduler.settle();
    release(1);
    await stage.scheduler.settle();
    assert.deepEqual([peer.has[OWN], peer.bodies.length], [0, 2]);
    release(0);
    await stage.scheduler.settle();
    release(2);
    assert.ok((await Promise.all(outcomes)).every(({ met }) => met));
    assert.deepEqual(
      stage.events.filter(({ kind }) => kind === 'push-failed'),
      [],
    );
    assert.equal(stage.status().state, 'healthy');
    await stage.mesh.stop();
  });

  it('two pushes that fail together are one failure', async () => {
    const { stage, peer, release } = await heldPushes({ kind: 'unreachable', message: 'reset' });
    const outcomes = [stage.write(), stage.scheduler.settle().then(() => stage.write())];
    await stage.scheduler.settle();
    assert.equal(peer.bodies.length, 2);
    peer.instead = null;
    release(0);
    release(1);
    await stage.scheduler.settle();
    assert.equal(stage.events.filter(({ kind }) => kind === 'push-failed').length, 1);
    await stage.scheduler.advance(1000);
    assert.ok((await Promise.all(outcomes)).every(({ met }) => met));
    await stage.mesh.stop();
  });

  it('peers that no write waits for get more at once; when a peer is late the next one is prompt', async () => {
    const stage = await new Stage(3).start();
    const [first, second, third] = stage.peers;
    first!.instead = ({ method }) => (method === 'POST' ? new Promise(() => {}) : null);
    const writes = [stage.write(), stage.write()];
    await stage.scheduler.advance(GATHERED_MS - 1);
    assert.deepEqual([first!.bodies.length, second!.bodies.length, third!.bodies.length], [2, 0, 0]);
    await stage.scheduler.advance(1);
    assert.deepEqual([second!.has[OWN], third!.has[OWN], third!.bodies.length], [2, 2, 1]);
    writes.push(stage.write());
    await stage.scheduler.settle();
    assert.deepEqual([second!.has[OWN], third!.has[OWN]], [3, 2]);
    assert.ok((await Promise.all(writes)).every(({ met }) => met));
    await stage.scheduler.advance(GATHERED_MS);
    assert.equal(third!.has[OWN], 3);
    await stage.mesh.stop();
  });

  it('a body stays below the limit however large its operations are', async () => {
    const stage = new Stage(1);
    stage.store.append(40);
    stage.store.own = stage.store.own.map((each) => ({ ...each, payload: '"\\"'.repeat(40_000) }));
    await stage.start();
    assert.equal(stage.peers[0]!.has[OWN], 40);
    assert.ok(stage.peers[0]!.bodies.every(({ length }) => length <= 2 * 1024 * 1024));
    for (const { operations, heads } of stage.peers[0]!.pushes) {
      const last = operations.at(-1)!;
      assert.equal(heads[0]!.seq, last.seq);
      const next = stage.store.own[last.seq];
      if (next !== undefined) assert.equal(heads[0]!.hash, next.prevHash);
    }
    await stage.mesh.stop();
  });

  it('a peer that may not hold a namespace gets the header alone', async () => {
    const stage = new Stage(2, (peerId) =>
      peerId.startsWith('peer-1') ? { allowedNamespaces: ['open/**'] } : {},
    );
    stage.store.append(1, 'secret');
    await stage.start();
    await stage.scheduler.advance(GATHERED_MS);
    assert.equal(stage.peers[0]!.pushes[0]!.operations[0]!.payload, null);
    assert.notEqual(stage.peers[1]!.pushes[0]!.operations[0]!.payload, null);
    await stage.mesh.stop();
  });
});

describe('failing peers', () => {
  it('an unreachable peer is suspect, then cut, burns no attempt, and is met again when it is back', async () => {
    const stage = await new Stage(1).start();
    stage.peers[0]!.instead = () => ({ kind: 'unreachable', message: 'refused' });
    const missed = stage.write();
    await stage.scheduler.settle();
    assert.equal(stage.status().state, 'suspect');
    await stage.scheduler.advance(2000);
    assert.deepEqual(await missed, { acks: 1, needed: 2, met: false, reason: 'unreachable' });
    assert.equal(stage.status().state, 'cut');
    // With the only peer cut nobody has to wait.
    const hopeless = await stage.write();
    assert.equal(hopeless.reason, 'unreachable');
    await stage.scheduler.advance(3_600_000);
    assert.deepEqual(
      [stage.status().attempts, stage.status().quarantined, stage.mesh.status().dlqDepth],
      [0, false, 2],
    );
    stage.peers[0]!.instead = null;
    await stage.scheduler.advance(3500);
    assert.deepEqual([stage.status().state, stage.peers[0]!.has[OWN]], ['healthy', 2]);
    assert.equal(stage.mesh.status().dlqDepth, 0);
    await stage.mesh.stop();
  });

  it('a peer that does not answer in time is no copy, and gets the write afterwards', async () => {
    const stage = await new Stage(1).start();
    let answer = (): void => {};
    stage.peers[0]!.instead = () =>
      new Promise((resolve) => {
        answer = () => resolve(null as never);
      });
    const missed = stage.write();
    await stage.scheduler.advance(2000);
    assert.deepEqual(await missed, { acks: 1, needed: 2, met: false, reason: 'timeout' });
    stage.peers[0]!.instead = null;
    answer();
    await stage.scheduler.settle();
    assert.equal(stage.status().acked, 1);
    await stage.mesh.stop();
  });

  it('a sign of life cuts the wait short, but not more often than four times a second', async () => {
    const stage = await new Stage(1).start();
    let asked = 0;
    stage.peers[0]!.instead = () => {
      asked += 1;
      return { kind: 'unreachable', message: 'refused' };
    };
    void stage.write();
    await stage.scheduler.advance(20_000);
    asked = 0;
    for (let step = 0; step < 100; step += 1) {
      stage.mesh.contacted(stage.peers[0]!.peerId, null);
      await stage.scheduler.advance(10);
    }
    assert.ok(asked >= 3 && asked <= 5, `asked ${asked} times in a second`);
    stage.peers[0]!.instead = null;
    stage.mesh.contacted(stage.peers[0]!.peerId, null);
    await stage.scheduler.advance(250);
    assert.equal(stage.peers[0]!.has[OWN], 1);
    await stage.mesh.stop();
  });

  it('throttling, overload and a damaged row of the peer burn no attempt', async () => {
    for (const [status, code] of [
      [429, 'OVERLOADED'],
      [503, 'OVERLOADED'],
      [500, 'DATA_DAMAGED'],
    ] as const) {
      const stage = await new Stage(1).start();
      stage.peers[0]!.instead = () => json({ code }, status);
      void stage.write();
      await stage.scheduler.advance(3_600_000);
      assert.equal(stage.status().attempts, 0);
      assert.equal(stage.status().cause, status === 429 ? 'throttled' : 'overloaded');
      stage.peers[0]!.instead = null;
      await stage.scheduler.advance(6000);
      assert.equal(stage.peers[0]!.has[OWN], 1);
      await stage.mesh.stop();
    }
  });

  it('what is refused is not sent again with everything that the peer answers meanwhile', async () => {
    const stage = await new Stage(1).start({ catchupIntervalMs: 50 });
    const [peer] = stage.peers;
    peer!.refuses = 'bad_chain';
    stage.store.append(1);
    await stage.scheduler.advance(3000);
    assert.ok(peer!.pulls.length > 20, `${peer!.pulls.length} pulls`);
    assert.ok(peer!.bodies.length <= 8, `${peer!.bodies.length} pushes in 3 s`);
    peer!.refuses = null;
    await stage.scheduler.advance(8000);
    assert.equal(peer!.has[OWN], 1);
    await stage.mesh.stop();
  });

  it('what is refused a hundred times is put aside, kept, and offered again to another release', async () => {
    const stage = await new Stage(1).start();
    const [peer] = stage.peers;
    peer!.refuses = 'bad_chain';
    void stage.write();
    await stage.scheduler.advance(3_600_000);
    assert.deepEqual(
      [stage.status().quarantined, stage.status().attempts, stage.status().cause],
      [true, 100, 'refused:bad_chain'],
    );
    assert.equal(stage.mesh.status().quarantined, 1);
    assert.equal(stage.mesh.status().dlqDepth, 1);
    const row = stage.store.saved.flatMap(({ progress }) => progress).at(-1)!;
    assert.deepEqual([row.acked, row.owedTo, row.quarantined, row.cause], [0, 1, true, 'refused:bad_chain']);
    const pushes = peer!.pushes.length;
    peer!.refuses = null;
    await stage.scheduler.advance(300_000);
    assert.equal(peer!.pushes.length, pushes);
    peer!.version = '1.1.0';
    await stage.scheduler.advance(60_000);
    assert.equal(peer!.has[OWN], 1);
    assert.equal(stage.status().quarantined, false);
    assert.equal(stage.store.saved.flatMap(({ progress }) => progress).at(-1)!.owedTo, 0);
    await stage.mesh.stop();
  });

  it('a peer that was put aside and took everything by itself owes nothing more', async () => {
    const stage = await new Stage(1).start();
    const [peer] = stage.peers;
    peer!.refuses = 'bad_chain';
    void stage.write();
    await stage.scheduler.advance(3_600_000);
    assert.equal(stage.status().quarantined, true);
    peer!.has[OWN] = 1;
    peer!.refuses = null;
    await stage.scheduler.advance(60_000);
    assert.deepEqual([stage.status().quarantined, stage.status().acked], [false, 1]);
    await stage.mesh.stop();
  });

  it('rubbish is a typed failure of that peer alone', async () => {
    const rubbish: readonly (readonly [string, Uint8Array])[] = [
      ['no JSON', new TextEncoder().encode('<html>')],
      ['not UTF-8', new Uint8Array([0xff, 0xfe])],
      ['an array', new TextEncoder().encode('[]')],
      ['negative have', new TextEncoder().encode('{"applied":1,"noop":0,"have":{"a":-1}}')],
      ['too long', new Uint8Array(17 * 1024 * 1024)],
    ];
    for (const [what, body] of rubbish) {
      const stage = await new Stage(2).start();
      stage.peers[0]!.instead = () => ({ kind: 'answer', status: 200, body });
      const outcome = await stage.write();
      assert.equal(outcome.met, true, what);
      assert.equal(stage.status(0).cause, 'rubbish', what);
      assert.equal(stage.status(1).state, 'healthy', what);
      await stage.mesh.stop();
    }
  });

  it('what a peer claims about operations that were not sent is passed over', async () => {
    const stage = await new Stage(1).start();
    stage.peers[0]!.instead = (request) => {
      if (request.method !== 'POST') return null;
      const parked = [`${OWN}/99`, `${OWN}/x`, 'other/1', `${OWN}/-1`].map((id) => ({
        op_id: id,
        reason: 'invalid',
      }));
      const common = { applied: 1, noop: 0, refused: [], wall_clock: '2026-01-01T00:00:00Z' };
      return json({ ...common, have: { [OWN]: 1 }, parked });
    };
    assert.equal((await stage.write()).met, true);
    assert.equal(stage.status().parked, 0);
    await stage.mesh.stop();
  });

  it('a certificate of somebody else cuts at once', async () => {
    const stage = await new Stage(1).start();
    stage.peers[0]!.instead = () => ({ kind: 'untrusted', message: 'another certificate' });
    assert.equal((await stage.write()).reason, 'unreachable');
    assert.equal(stage.status().state, 'cut');
    await stage.mesh.stop();
  });

  it('a parked operation is no acknowledgement, and the ledger names it until it takes effect', async () => {
    const stage = await new Stage(1).start();
    stage.peers[0]!.parks.set(1, 'unknown_kind');
    assert.deepEqual(await stage.write(), { acks: 1, needed: 2, met: false, reason: 'parked' });
    assert.deepEqual(stage.mesh.acknowledgements(OWN, 1), [
      { peerId: stage.peers[0]!.peerId, state: 'parked', reason: 'unknown_kind' },
    ]);
    assert.equal((await stage.write()).met, true);
    await stage.scheduler.advance(5000);
    assert.deepEqual(
      stage.store.saved.flatMap(({ parked }) => parked).map(({ seq, reason }) => [seq, reason]),
      [[1, 'unknown_kind']],
    );
    assert.equal(stage.mesh.status().dlqDepth, 1);
    // Another release knows the kind.
    stage.peers[0]!.parks.clear();
    stage.peers[0]!.version = '1.1.0';
    await stage.scheduler.advance(60_000);
    assert.equal(stage.mesh.acknowledgements(OWN, 1)[0]!.state, 'durable');
    assert.deepEqual(
      stage.store.saved.flatMap(({ settled }) => settled).map(({ seq }) => seq),
      [1],
    );
    assert.equal(stage.mesh.status().dlqDepth, 0);
    await stage.mesh.stop();
  });

  it('the skew of a peer is measured', async () => {
    const stage = new Stage(1);
    stage.peers[0]!.clockMs = 7000;
    await stage.start();
    assert.equal(stage.status().skewMs, 7000);
    await stage.mesh.stop();
  });
});

describe('the roster', () => {
  it('a peer that joins is met, one that leaves is not talked to, and W follows', async () => {
    const stage = await new Stage(2).start({ quorumWrites: 3 });
    const [first, second] = stage.peers.map(({ peerId }) => member(peerId));
    assert.equal((await stage.write()).needed, 3);
    stage.roster.set([first!, { ...second!, state: 'departed' }]);
    assert.equal((await stage.write()).needed, 2);
    await stage.scheduler.advance(60_000);
    assert.equal(stage.peers[1]!.has[OWN], 1);
    stage.roster.set([first!, second!]);
    await stage.scheduler.advance(100);
    assert.equal(stage.peers[1]!.has[OWN], 2);
    await stage.mesh.stop();
    assert.equal(stage.scheduler.pending, 0);
  });

  it('without peers a write is replicated as far as it can be', async () => {
    const stage = await new Stage(0).start();
    assert.deepEqual(await stage.write(), { acks: 1, needed: 1, met: true, reason: null });
    await stage.mesh.stop();
  });

  it('a write that comes before the members are known waits for its copies all the same', async () => {
    const stage = new Stage(2);
    const started = stage.start();
    const outcome = stage.write();
    await started;
    assert.deepEqual(await outcome, { acks: 2, needed: 2, met: true, reason: null });
    await stage.mesh.stop();
  });

  it('a peer without an address is acknowledged by what it asks with', async () => {
    const stage = await new Stage(1, () => ({ url: null })).start();
    const outcome = stage.write();
    stage.mesh.contacted(stage.peers[0]!.peerId, { [OWN]: 1 });
    assert.equal((await outcome).met, true);
    // A late question of before takes nothing back.
    stage.mesh.contacted(stage.peers[0]!.peerId, { [OWN]: 0 });
    assert.equal(stage.status().acked, 1);
    await stage.mesh.stop();
  });
});

describe('catch-up', () => {
  const FOREIGN = 'peer-9999999999999999/e1';
  const ops = (from: number, to: number, origin = FOREIGN) =>
    Array.from({ length: to - from + 1 }, (_, index) => operation(origin, from + index));

  it('takes what a peer has at the first meeting, at a hint, and in rounds', async () => {
    const stage = new Stage(1);
    const [peer] = stage.peers;
    peer!.offers = ops(1, 3);
    await stage.start();
    assert.equal(stage.store.have[FOREIGN], 3);
    peer!.offers = ops(1, 4);
    stage.mesh.hint(peer!.peerId);
    await stage.scheduler.settle();
    assert.equal(stage.store.have[FOREIGN], 4);
    peer!.offers = ops(1, 5);
    await stage.scheduler.advance(30_000);
    assert.equal(stage.store.have[FOREIGN], 5);
    await stage.mesh.stop();
  });

  it('asks for the next page while one is applied, from a place that claims nothing', async () => {
    const stage = new Stage(1);
    const [peer] = stage.peers;
    peer!.offers = ops(1, 5);
    peer!.pageMax = 2;
    const asked: number[] = [];
    stage.applies = ({ operations }) => {
      asked.push(peer!.pulls.length);
      const { seq } = operations.at(-1)!;
      stage.store.have[FOREIGN] = seq;
      return ok({ applied: 2, noop: 0, changed: [], refused: [], parked: [], have: { [FOREIGN]: seq } });
    };
    await stage.start();
    assert.deepEqual(
      stage.applied.map(({ operations }) => operations.map(({ seq }) => seq)),
      [[1, 2], [3, 4], [5]],
    );
    // The probe, the first page, and then always one more than is applied.
    assert.deepEqual(asked, [3, 4, 4]);
    assert.deepEqual(peer!.places, [true, false, true, true]);
    await stage.mesh.stop();
  });

  it('an operation over which the rules break keeps no other one parked', async () => {
    const stage = new Stage(1);
    stage.store.parkedAt = Array.from({ length: 1200 }, (_, index) => 10 * (index + 1));
    const broken = [10, 20, ...Array.from({ length: 11 }, (_, index) => 1000 * (index + 1))];
    for (const at of broken) stage.store.broken.add(at);
    await stage.start();
    assert.deepEqual(stage.store.parkedAt, broken);
    await stage.mesh.stop();
  });

  it('verifies the next two pages while one is applied, and no more', async () => {
    const stage = new Stage(1);
    const [peer] = stage.peers;
    peer!.offers = ops(1, 9);
    peer!.pageMax = 2;
    const finish: (() => void)[] = [];
    stage.applies = ({ operations }) =>
      new Promise((resolve) => {
        const { seq } = operations.at(-1)!;
        finish.push(() => {
          stage.store.have[FOREIGN] = seq;
          const have = { [FOREIGN]: seq };
          resolve(ok({ applied: 2, noop: 0, changed: [], refused: [], parked: [], have }));
        });
      });
    await stage.start();
    const pages = [[1, 2], [3, 4], [5, 6], [7, 8], [9]];
    for (let applied = 0; applied < 5; applied += 1) {
      await stage.scheduler.advance(100);
      assert.deepEqual([finish.length, stage.verifiedPages], [applied + 1, pages.slice(0, applied + 3)]);
      finish[applied]!();
    }
    await stage.scheduler.advance(100);
    await stage.mesh.stop();
  });

  it('what was asked for ahead of a page that was not taken whole is not applied', async () => {
    const stage = new Stage(1);
    const [peer] = stage.peers;
    peer!.offers = ops(1, 5);
    peer!.pageMax = 2;
    let first = true;
    stage.applies = ({ operations }) => {
      const seq = first ? 1 : operations.at(-1)!.seq;
      first = false;
      stage.store.have[FOREIGN] = seq;
      return ok({ applied: 1, noop: 0, changed: [], refused: [], parked: [], have: { [FOREIGN]: seq } });
    };
    await stage.start();
    assert.deepEqual(
      stage.applied.map(({ operations }) => operations.map(({ seq }) => seq)),
      [
        [1, 2],
        [2, 3],
        [4, 5],
      ],
    );
    await stage.mesh.stop();
  });

  it('a peer that reads what it lacks is not pushed the same, until it stops reading', async () => {
    const stage = await new Stage(1).start();
    const [peer] = stage.peers;
    peer!.instead = () => ({ kind: 'unreachable', message: 'refused' });
    stage.store.append(3000);
    await stage.scheduler.advance(1000);
    peer!.instead = null;
    stage.mesh.contacted(peer!.peerId, { [OWN]: 0 }, { [OWN]: 0 });
    await stage.scheduler.advance(400);
    assert.deepEqual([stage.status().state, peer!.pushes.length], ['healthy', 0]);
    stage.mesh.contacted(peer!.peerId, null, { [OWN]: 1500 });
    await stage.scheduler.advance(400);
    assert.equal(peer!.pushes.length, 0);
    // The last page, which it may take or not.
    stage.mesh.contacted(peer!.peerId, null, { [OWN]: 2500 });
    await stage.scheduler.advance(200);
    assert.equal(peer!.has[OWN], 3000);
    await stage.mesh.stop();
  });

  it('asks one peer after the other, so that what both relay travels once', async () => {
    const stage = new Stage(3);
    for (const peer of stage.peers) peer.offers = ops(1, 50);
    await stage.start();
    assert.equal(stage.applied.length, 1);
    assert.equal(stage.applied[0]!.operations.length, 50);
    await stage.mesh.stop();
  });

  it('a peer that does not answer keeps the others waiting for half a second at most', async () => {
    const stage = new Stage(2);
    await stage.start();
    stage.peers[0]!.instead = () => new Promise(() => {});
    stage.peers[1]!.offers = ops(1, 2);
    stage.mesh.hint(stage.peers[0]!.peerId);
    stage.mesh.hint(stage.peers[1]!.peerId);
    await stage.scheduler.advance(499);
    assert.equal(stage.store.have[FOREIGN], undefined);
    await stage.scheduler.advance(2);
    assert.equal(stage.store.have[FOREIGN], 2);
    await stage.mesh.stop();
  });

  it('an origin that is refused does not keep the others back', async () => {
    const stage = new Stage(1);
    const [peer] = stage.peers;
    const strange = 'peer-8888888888888888/e1';
    peer!.offers = [...ops(1, 2, strange), ...ops(1, 2)];
    peer!.has = { [strange]: 2, [FOREIGN]: 2 };
    stage.applies = ({ operations }) => {
      const have: Record<string, number> = {};
      const refused = operations
        .filter(({ origin }) => origin === strange)
        .map(({ origin, seq }) => ({ origin, seq, reason: 'unknown_origin' as const }));
      // As a page would that the strange origin fills.
      if (refused.length === 0) for (const { origin, seq } of operations) have[origin] = seq;
      Object.assign(stage.store.have, have);
      return ok({ applied: 0, noop: 0, changed: [], refused, parked: [], have });
    };
    await stage.start();
    assert.deepEqual(stage.store.have, { [FOREIGN]: 2 });
    assert.equal(peer!.origins.at(-1), FOREIGN);
    await stage.mesh.stop();
  });

  it('pages that bring nothing end the round', async () => {
    const stage = new Stage(1);
    const [peer] = stage.peers;
    peer!.offers = ops(1, 2);
    peer!.more = true;
    stage.applies = () => ok({ applied: 0, noop: 2, changed: [], refused: [], parked: [], have: {} });
    await stage.start();
    assert.ok(peer!.pulls.length < 5, `asked ${peer!.pulls.length} times`);
    await stage.mesh.stop();
  });
});

describe('a database that was put back', () => {
  const proof = (stage: Stage) => {
    stage.peers[0]!.has[OWN] = 5;
    stage.peers[0]!.offers = [1, 2, 3, 4, 5].map((seq) => operation(OWN, seq));
    stage.applies = ({ operations }) => {
      const own = operations.filter(({ origin }) => origin === stage.store.origin);
      const refused = own.map(({ origin, seq }) => ({ origin, seq, reason: 'own_ahead' as const }));
      const have: Record<string, number> = {};
      if (own.length === 0) for (const { origin, seq } of operations) have[origin] = seq;
      Object.assign(stage.store.have, have);
      return ok({ applied: 0, noop: 0, changed: [], refused, parked: [], have });
    };
  };

  it('goes on under a new epoch, takes back what it lost, and only then takes writes', async () => {
    const stage = new Stage(2);
    stage.store.append(2);
    proof(stage);
    let accepting: boolean | null = null;
    const { applies } = stage;
    stage.applies = (page) => {
      accepting = stage.mesh.accepting();
      return applies!(page);
    };
    await stage.start();
    assert.equal(stage.store.epochs.length, 1);
    assert.deepEqual(stage.store.keeps, [2]);
    assert.equal(stage.store.have[OWN], 5);
    assert.equal(accepting, false);
    assert.equal(stage.mesh.accepting(), true);
    assert.notEqual(stage.mesh.status().origin, OWN);
    const outcome = await stage.write();
    assert.equal(outcome.met, true);
    assert.equal(stage.peers[0]!.has[stage.store.origin], 1);
    await stage.mesh.stop();
    assert.equal(stage.scheduler.pending, 0);
  });

  it('a claim without proof begins no epoch and holds writes up once only', async () => {
    const stage = new Stage(1);
    stage.store.append(2);
    stage.peers[0]!.has[OWN] = 1_000_000;
    await stage.start();
    await stage.scheduler.advance(10_000);
    assert.equal(stage.store.epochs.length, 0);
    assert.equal(stage.mesh.accepting(), true);
    assert.deepEqual([stage.status().acked, stage.status().cause], [0, 'refused:own_ahead']);
    await stage.mesh.stop();
  });

  it('as many operations as here, but others, are no copies', async () => {
    const stage = new Stage(1);
    stage.store.append(3);
    // The database was put back and went on, so the numbers are alike and the operations are not.
    stage.peers[0]!.has[OWN] = 5;
    stage.peers[0]!.refuses = 'fork';
    const outcome = stage.start().then(() => stage.write(2));
    await stage.scheduler.advance(2500);
    assert.equal((await outcome).met, false);
    await stage.mesh.stop();
  });

  it('a fork is asked after from where it begins', async () => {
    const stage = new Stage(1);
    stage.store.append(3);
    const [peer] = stage.peers;
    peer!.refuses = 'fork';
    peer!.has[OWN] = 2;
    const other = { ...operation(OWN, 3), payloadHash: operation(OWN, 3, 'other').prevHash };
    peer!.offers = [operation(OWN, 1), operation(OWN, 2), other];
    stage.applies = ({ operations }) => {
      const refused = operations
        .filter(({ origin }) => origin === stage.store.origin)
        .map(({ origin, seq }) => ({ origin, seq, reason: 'fork' as const }));
      if (refused.length > 0) peer!.refuses = null;
      return ok({ applied: 0, noop: 0, changed: [], refused, parked: [], have: {} });
    };
    await stage.start();
    await stage.scheduler.advance(5000);
    assert.equal(stage.store.epochs.length, 1);
    assert.deepEqual(stage.store.keeps, [2], 'only what the peer does not have is renamed');
    await stage.mesh.stop();
  });

  it('a node without peers takes writes at once', async () => {
    const stage = await new Stage(0).start();
    assert.equal(stage.mesh.accepting(), true);
    await stage.mesh.stop();
  });

  it('writes wait at the start until the peers were asked, two seconds at most', async () => {
    const stage = new Stage(1);
    stage.peers[0]!.instead = () => new Promise(() => {});
    await stage.start();
    assert.equal(stage.mesh.accepting(), false);
    let waited = false;
    void stage.mesh.whenAccepting().then(() => {
      waited = true;
    });
    await stage.scheduler.advance(2000);
    assert.equal(waited, true);
    await stage.mesh.stop();
    assert.equal(stage.scheduler.pending, 0);
  });
});

describe('a restart', () => {
  it('takes up the ledger, and the first answer corrects it', async () => {
    const stage = new Stage(1);
    stage.store.append(4);
    stage.store.progress = {
      progress: [
        {
          peerId: stage.peers[0]!.peerId,
          origin: OWN,
          acked: 4,
          owedTo: 0,
          attempts: 7,
          quarantined: false,
          cause: 'refused:bad_chain',
          firstFailedAtMs: 1,
          lastFailedAtMs: 2,
          nextTryAtMs: null,
          version: '1.0.0',
        },
      ],
      parked: [{ peerId: stage.peers[0]!.peerId, origin: OWN, seq: 2, reason: 'unknown_kind', notedAtMs: 1 }],
    };
    stage.peers[0]!.instead = () => ({ kind: 'unreachable', message: 'refused' });
    await stage.start();
    assert.deepEqual([stage.status().acked, stage.status().attempts, stage.status().parked], [4, 7, 1]);
    assert.equal(stage.mesh.acknowledgements(OWN, 2)[0]!.state, 'parked');
    stage.peers[0]!.instead = null;
    stage.peers[0]!.has[OWN] = 1;
    await stage.scheduler.advance(5000);
    assert.deepEqual([stage.peers[0]!.has[OWN], stage.status().attempts], [4, 0]);
    await stage.mesh.stop();
  });

  it('what waits at the end is answered, and the ledger is written', async () => {
    const stage = await new Stage(1).start();
    stage.peers[0]!.instead = () => new Promise(() => {});
    const outcome = stage.write();
    await stage.scheduler.settle();
    await stage.mesh.stop();
    assert.equal((await outcome).reason, 'stopping');
    assert.ok(stage.store.saved.length > 0);
    assert.equal(stage.scheduler.pending, 0);
  });
});
