import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Peer } from '../../protocol/peers/peer.js';
import type { PeerReply } from '../../protocol/wire/transport.js';
import { OWN, Stage } from '../actors/mesh/scripted.js';

/** In which seconds writes waited while a peer claimed each second to be ahead, and let every question time out. */
async function heldSeconds(seconds: number, fields: Partial<Peer> = {}): Promise<number[]> {
  const stage = new Stage(1, () => fields);
  const [peer] = stage.peers;
  stage.store.append(2);
  await stage.start({ catchupIntervalMs: 0 });
  const silence: PeerReply = { kind: 'timeout', message: 'no answer' };
  peer!.instead = () => new Promise((resolve) => void stage.scheduler.after(3000, () => resolve(silence)));
  const held: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    stage.mesh.contacted(peer!.peerId, { [OWN]: 1_000_000 });
    await stage.scheduler.advance(1000);
    if (!stage.mesh.accepting()) held.push(second);
  }
  await stage.mesh.stop();
  return held;
}

describe('a peer that claims to be ahead and proves nothing', () => {
  it('makes writes wait ever more rarely', async (context) => {
    const held = await heldSeconds(7200);
    assert.ok(held.length > 0, 'the first claim is taken seriously');
    assert.ok(held.length < 60, `writes waited in ${held.length} seconds of two hours`);
    const late = held.filter((second) => second >= 3600);
    context.diagnostic(
      `writes waited in ${held.length} seconds of two hours, ${late.length} of the second one`,
    );
    assert.ok(late.length <= 8, `${late.length} of them in the second hour`);
  });

  it('makes no write wait when it has a scope', async () => {
    assert.deepEqual(await heldSeconds(60, { allowedNamespaces: ['team/**'] }), []);
  });
});
