import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PushBody } from '../../../protocol/wire/bodies.js';
import type { PeerReply } from '../../../protocol/wire/transport.js';
import { OWN, Stage } from './scripted.js';

/** A stage with one peer that has nothing, and answers a push some time later: by itself where `reply` says null. */
async function answering(
  reply: (seqs: readonly number[], isNext: boolean) => readonly [number, PeerReply | null],
) {
  const stage = await new Stage(1).start();
  const peer = stage.peers[0]!;
  peer.has[OWN] = 0;
  peer.instead = ({ method, body }) => {
    if (method !== 'POST') return null;
    const { operations } = JSON.parse(new TextDecoder().decode(body!)) as PushBody;
    const seqs = operations.map(({ seq }) => seq);
    const [afterMs, answer] = reply(seqs, seqs[0] === (peer.has[OWN] ?? 0) + 1);
    return new Promise((resolve) => stage.scheduler.after(afterMs, () => resolve(answer)));
  };
  return { stage, peer };
}

async function pass(stage: Stage, ms: number, stepMs = 5): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) await stage.scheduler.advance(stepMs);
}

describe('two pushes under way', () => {
  it('a refusal counts though the push behind it was answered with a gap before', async () => {
    const { stage, peer } = await answering((_, isNext) => [isNext ? 20 : 5, null]);
    peer.refuses = 'clock_skew';
    stage.store.append(200);
    await pass(stage, 3000);
    assert.ok(peer.bodies.length <= 12, `${peer.bodies.length} pushes in 3 s`);
    assert.ok(stage.status().attempts >= 3);
    await stage.mesh.stop();
  });

  it('a push that is too much for a peer becomes smaller whatever comes of the one behind it', async () => {
    const { stage, peer } = await answering((seqs, isNext) => [
      isNext ? 90 : 5,
      isNext && seqs.length > 10 ? { kind: 'timeout', message: 'no answer' } : null,
    ]);
    stage.store.append(200);
    await pass(stage, 20_000);
    assert.equal(peer.has[OWN], 200);
    await stage.mesh.stop();
  });

  it('what a write waits for is sent again though other writes never stop', async () => {
    const { stage, peer } = await answering(() => [6, null]);
    const slow = peer.instead;
    // Lost after its effect.
    peer.instead = ({ method }) => (method === 'POST' ? { kind: 'unreachable', message: 'reset' } : null);
    const first = stage.write(3);
    await stage.scheduler.settle();
    peer.has[OWN] = 3;
    stage.mesh.contacted(peer.peerId, { [OWN]: 3 });
    peer.instead = slow;
    const others: Promise<{ readonly met: boolean }>[] = [];
    for (let round = 0; round < 500; round += 1) {
      others.push(stage.write());
      await pass(stage, 4, 2);
    }
    await pass(stage, 100);
    assert.deepEqual(await first, { acks: 2, needed: 2, met: true, reason: null });
    assert.ok((await Promise.all(others)).every(({ met }) => met));
    await stage.mesh.stop();
  });

  it('a refusal of a part ends in one wait, not in another push', async () => {
    const { stage, peer } = await answering(() => [1, null]);
    stage.store.append(60);
    const take = peer.instead!;
    peer.instead = async (request) => {
      const answer = await take(request);
      if (request.method === 'POST') peer.refuses = 'clock_skew';
      return answer;
    };
    await pass(stage, 100);
    const { length } = peer.bodies;
    assert.ok(length <= 2, `${length} pushes`);
    assert.equal(stage.status().attempts, length);
    await stage.mesh.stop();
  });

  it('a peer that took by itself what it had refused is pushed to at once', async () => {
    const { stage, peer } = await answering(() => [1, null]);
    peer.refuses = 'clock_skew';
    stage.store.append(1);
    await pass(stage, 20_000, 100);
    assert.ok(stage.status().attempts > 3);
    peer.refuses = null;
    peer.has[OWN] = 1;
    await stage.scheduler.advance(20_000);
    stage.mesh.contacted(peer.peerId, { [OWN]: 1 });
    const outcome = stage.write();
    await pass(stage, 1900);
    assert.ok((await outcome).met);
    await stage.mesh.stop();
  });

  it('where every peer has a scope, writes wait for those', async () => {
    const stage = await new Stage(1, () => ({ allowedNamespaces: ['team'] })).start();
    const outcome = stage.write();
    await stage.scheduler.settle();
    assert.ok((await outcome).met);
    await stage.mesh.stop();
  });
});
