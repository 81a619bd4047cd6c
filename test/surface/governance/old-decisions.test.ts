import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadMachineIdentity } from '../../../node/identity/machine-key.js';
import { systemRandom } from '../../../node/seams.js';
import { PENDING_KEPT_SECONDS } from '../../../protocol/base/limits.js';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, temporaryFolder } from '../../support/daemon-process.js';
import { governedWriter } from '../../support/governed-writer.js';
import { storing } from '../../support/memories.js';
import { untilAnswer } from '../../support/wait.js';

const DAY_MS = 86_400_000;

it('a daemon removes actions that were decided long ago, and leaves the others', {
  timeout: 120_000,
}, async () => {
  const home = temporaryFolder('old-decisions');
  const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
  const nowMs = Date.now() - PENDING_KEPT_SECONDS * 1000 - DAY_MS;
  const node = governedWriter({}, { path: join(home, 'mnemesh.db'), peerId, nowMs });
  node.register('ai:lead');
  for (const [pendingId, laterMs] of [
    ['old', 0],
    ['recent', 2 * DAY_MS],
  ] as const) {
    node.nowMs = nowMs + laterMs;
    node.must({
      ...{
        kind: 'request-approval',
        pendingId,
        command: storing({ title: pendingId, metadata: { agent_id: 'ai:coder' } }),
        action: 'store',
      },
      ...{ namespace: 'team', memoryId: null, approver: { form: 'human' }, requestedBy: 'ai:coder' },
    });
    const vote = { kind: 'vote-pending', pendingId, agentId: 'ai:lead', remember: 'once' } as const;
    node.must({ ...vote, decision: 'approve' });
  }
  node.db.close();
  const daemon = await startDaemonHere(home, await freePort());
  try {
    const shown = async () => {
      const headers = { 'x-agent-id': 'ai:coder' };
      const answer = await fetch(`${daemon.base}/pending?limit=100`, { headers });
      const { pending } = (await answer.json()) as { readonly pending: readonly { readonly id: string }[] };
      return pending.map(({ id }) => id);
    };
    const left = await untilAnswer('one action is left', shown, (ids) => ids.length < 2);
    assert.deepEqual(left, ['recent']);
  } finally {
    await daemon.end('SIGTERM');
  }
});
