import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clockProblem } from '../../../node/pipeline/clock-problem.js';
import { json, Stage } from '../../actors/mesh/scripted.js';

const MINUTE_MS = 60_000;

/** A node after its first rounds with peers whose clocks differ from its own. */
async function among(clocksMs: readonly number[]): Promise<Stage> {
  const stage = new Stage(clocksMs.length);
  for (const [index, clockMs] of clocksMs.entries()) stage.peers[index]!.clockMs = clockMs;
  return await stage.start();
}

const codeOf = ({ mesh }: Stage) => clockProblem(mesh)?.code ?? null;

describe('writes of a node whose clock is ahead', () => {
  it('are refused while it is more than 60 s ahead of all peers that answer', async () => {
    const rows: readonly (readonly [readonly number[], string | null])[] = [
      [[], null],
      [[0], null],
      [[-MINUTE_MS + 1], null],
      [[-MINUTE_MS - 1000], 'CLOCK_AHEAD'],
      [[-MINUTE_MS - 1000, -10 * MINUTE_MS], 'CLOCK_AHEAD'],
      [[-10 * MINUTE_MS, -1000], null],
      [[10 * MINUTE_MS], null],
    ];
    for (const [clocks, code] of rows) {
      const stage = await among(clocks);
      assert.equal(codeOf(stage), code, JSON.stringify(clocks));
      await stage.mesh.stop();
    }
  });

  it('are refused by what a refusal says of the clocks too, and taken when nobody answers any more', async () => {
    const stage = new Stage(1);
    const [peer] = stage.peers;
    const late = { error: 'message_out_of_time', code: 'message_out_of_time', skew_ms: 15 * MINUTE_MS };
    peer!.instead = () => json(late, 401);
    await stage.start();
    assert.equal(codeOf(stage), 'CLOCK_AHEAD');
    assert.deepEqual([stage.status().cause, stage.status().skewMs], ['refused:clock_skew', -15 * MINUTE_MS]);
    peer!.instead = () => ({ kind: 'unreachable', message: 'gone' });
    await stage.scheduler.advance(40_000);
    assert.equal(codeOf(stage), null);
    await stage.mesh.stop();
  });

  it('are not refused for a slow answer', async () => {
    const stage = new Stage(1);
    const [peer] = stage.peers;
    peer!.clockMs = -MINUTE_MS + 1000;
    peer!.instead = () => new Promise((resolve) => void stage.scheduler.after(4000, () => resolve(null)));
    await stage.start();
    // The answer is dated when the peer sends it; a peer may as well date it when it is asked.
    peer!.clockMs = -MINUTE_MS - 3000;
    await stage.scheduler.advance(4000);
    assert.ok(stage.status().skewMs! < -MINUTE_MS);
    assert.equal(codeOf(stage), null);
    await stage.mesh.stop();
  });
});
