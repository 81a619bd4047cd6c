import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import { PENDING_SECONDS_MAX } from '../../protocol/base/limits.js';
import { instantAfter, instantFromMs } from '../../protocol/base/time.js';
import type { Command } from '../../protocol/release.js';
import { FindRows } from '../../storage/sql/kinds/find-rows.js';
import { undecidedPendings } from '../../storage/sql/queries/pendings.js';
import { Statements } from '../../storage/sql/statements.js';
import { Writer } from '../../storage/sql/writer.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { aMemory, OPERATOR, UNLIMITED } from '../support/memories.js';

const NOW_MS = 1_772_000_000_000;
const NOW = instantFromMs(NOW_MS);

it('only actions with new votes, and late ones, are looked at again', () => {
  const path = ':memory:';
  const identity = { peerId: 'peer-a' };
  const db = openDatabase({
    ...{ path, identity, nowMs: NOW_MS, crypto: systemCrypto, freshEpoch: 'epoch', busyTimeoutMs: 100 },
  });
  const reportBug = (error: unknown) => {
    throw error;
  };
  const governance = { mode: 'enforce', rules: [], failOpen: false, session: 's' } as const;
  const writer = new Writer({
    ...{ db, crypto: systemCrypto, reportBug, signer: null, policy: { ...UNLIMITED, governance } },
  });
  const must = (command: Command) => {
    const [result] = writer.run([{ command, nowMs: NOW_MS }]);
    assert.ok(result!.ok, JSON.stringify(result));
  };
  const parts = { find: new FindRows(new Statements(db)) };
  const looked = (seconds: number) => {
    const requestedBefore = instantAfter(NOW, seconds - PENDING_SECONDS_MAX);
    return undecidedPendings(parts, { kind: 'undecided-pendings', requestedBefore, limit: 10 }).ids;
  };
  for (const pendingId of ['voted', 'waits']) {
    must({
      ...{ kind: 'request-approval', pendingId, command: { kind: 'end-sessions' }, action: 'store' },
      ...{
        namespace: 'team',
        memoryId: null,
        approver: { form: 'consensus', votes: 2 },
        requestedBy: 'ai:a',
      },
    });
  }
  for (const agentId of ['ai:b', 'ai:c']) {
    const memory = aMemory({ id: agentId, namespace: '_agents', title: `agent:${agentId}` });
    must({ kind: 'register-agent', memory, spareId: `${agentId}-2`, viewer: OPERATOR, admin: true });
  }
  must({ kind: 'vote-pending', pendingId: 'voted', agentId: 'ai:b', decision: 'approve', remember: 'once' });
  assert.deepEqual(looked(0), []);
  // A vote that another node took.
  db.exec(`INSERT INTO records (kind, id, namespace, owner_id, payload, hlc, origin, origin_seq, seen)
    SELECT kind, replace(id, 'ai:b', 'ai:c'), namespace, 'ai:c', replace(payload, 'ai:b', 'ai:c'), hlc, origin,
      origin_seq, seen FROM records WHERE kind = 'vote'`);
  assert.deepEqual(looked(0), ['voted']);
  assert.deepEqual([...looked(PENDING_SECONDS_MAX)].sort(), ['voted', 'waits']);
  db.close();
});
