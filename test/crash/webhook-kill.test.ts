import { describe, it } from 'node:test';
import { killWhileDelivering } from './webhook-kill.js';

describe('SIGKILL between a commit and the acknowledgement of its event', { timeout: 240_000 }, () => {
  it('loses no event, and repeats one as it was', async () => {
    await killWhileDelivering([
      'after a failed attempt',
      'while the receiver answers',
      'after the answer',
      { afterMs: 0 },
    ]);
  });
});
