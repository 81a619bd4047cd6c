import { describe, it } from 'node:test';
import { killWhileDelivering, type Moment } from './webhook-kill.js';

const KILLS = 60;
const NAMED: readonly Moment[] = ['after a failed attempt', 'while the receiver answers', 'after the answer'];

describe('SIGKILL at many moments of a delivery', { timeout: 3_600_000 }, () => {
  it('loses no event, and repeats one as it was', async () => {
    const moments = Array.from({ length: KILLS }, (_, n): Moment => ({ afterMs: n * 2 }));
    await killWhileDelivering([...NAMED, ...moments]);
  });
});
