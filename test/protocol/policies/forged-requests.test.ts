import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Command } from '../../../protocol/release.js';
import { governedWriter } from '../../support/governed-writer.js';
import { aMemory, OPERATOR, storing } from '../../support/memories.js';

const REQUESTER = 'ai:requester';
const VICTIM = 'ai:victim';
const LEAD = 'ai:lead';

/** A node that holds a request with any command, as another node may have written it. */
function holding(command: { readonly kind: string }) {
  const node = governedWriter();
  node.register(LEAD);
  node.must({
    ...{ kind: 'request-approval', pendingId: 'p', command, action: 'update', namespace: 'team' },
    ...{ memoryId: null, approver: { form: 'human' }, requestedBy: REQUESTER },
  });
  const vote = { kind: 'vote-pending', pendingId: 'p', agentId: LEAD, remember: 'once' } as const;
  return { node, approve: { ...vote, decision: 'approve' } as Command };
}

const common = { viewer: OPERATOR, archive: true };

describe('a request whose record says more than its requester may', () => {
  const hidden = aMemory({
    ...{ id: 'salaries', title: 'salaries', namespace: 'finance' },
    metadata: { agent_id: VICTIM, scope: 'private' },
  });

  for (const command of [
    {
      kind: 'update-memory',
      id: 'salaries',
      patch: { scope: 'collective' },
      expectedVersion: null,
      ...common,
    },
    { kind: 'delete-memory', id: 'salaries', ...common },
    { kind: 'share-memory', id: 'salaries', copyId: 'c', from: REQUESTER, to: 'ai:b', viewer: OPERATOR },
    { kind: 'promote-memory', id: 'salaries', targetTier: 'long', vertical: null, ...common },
  ])
    it(`sees and changes only what its requester does: ${command.kind}`, () => {
      const { node, approve } = holding(command);
      node.must(storing(hidden, { viewer: OPERATOR }));
      assert.equal(node.refused(approve).code, 'NOT_FOUND');
      assert.equal(
        node.db.prepare(`SELECT metadata ->> '$.scope' FROM memories WHERE id = 'salaries'`).pluck().get(),
        'private',
      );
    });

  it('stores nothing in the name of another agent', () => {
    const memory = aMemory({ namespace: 'team', metadata: { agent_id: VICTIM, attest_level: 'claimed' } });
    const { node, approve } = holding({ ...storing(memory) });
    assert.equal(node.refused(approve).code, 'PENDING_ACTION_STATE_INVALID');
  });

  it('of a release that did not say which text it was about is not executed on a row, and is for a new one', () => {
    const own = { ...hidden, metadata: { agent_id: REQUESTER } };
    const update = holding({
      ...{ kind: 'update-memory', id: 'salaries', patch: { title: 'new' }, expectedVersion: null, ...common },
    });
    update.node.must(storing(own, { viewer: OPERATOR }));
    const refused = update.node.refused(update.approve);
    assert.equal(refused.code, 'VERSION_CONFLICT');
    assert.match(refused.message, /send a new one/);
    const store = holding({ ...storing(own) });
    store.node.must(store.approve);
    assert.equal(
      store.node.db.prepare(`SELECT count(*) FROM memories WHERE id = 'salaries'`).pluck().get(),
      1,
    );
  });
});
