import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PeerReply } from '../../protocol/wire/transport.js';
import { OWN, Stage } from '../actors/mesh/scripted.js';

describe('a push that carries more than this process knew of', () => {
  it('does not make its receiver look ahead', async () => {
    const stage = await new Stage(1).start({ logPollMs: 0 });
    const [peer] = stage.peers;
    const gates: boolean[] = [];
    peer!.instead = ({ method }) =>
      new Promise<PeerReply | null>((resolve) => {
        if (method !== 'POST') gates.push(stage.mesh.accepting());
        stage.scheduler.after(5, () => resolve(null));
      });
    // Two writes are in the log when the first is told.
    stage.store.append(2);
    const first = stage.mesh.replicated(OWN, 1, 1, stage.scheduler.monotonicMs() + 2000);
    for (let step = 0; step < 20; step += 1) {
      await stage.scheduler.advance(1);
      gates.push(stage.mesh.accepting());
    }
    assert.equal((await first).met, true);
    assert.equal(peer!.has[OWN], 2);
    assert.ok(!gates.includes(false), 'no write waits');
    const { state, cause, acked } = stage.status();
    assert.deepEqual([state, cause, acked], ['healthy', null, 2]);
    assert.equal(stage.events.filter(({ kind }) => kind === 'push-failed').length, 0);
    await stage.mesh.stop();
  });
});
