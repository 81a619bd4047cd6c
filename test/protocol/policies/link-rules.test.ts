import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { detailsOf } from '../../../protocol/base/result.js';
import type { PermissionRule } from '../../../protocol/decide/permissions.js';
import { POLICY_REFUSAL } from '../../../protocol/policies/note-refusal.js';
import type { RequestApproval } from '../../../protocol/policies/request-approval.js';
import type { Command } from '../../../protocol/release.js';
import { governedWriter } from '../../support/governed-writer.js';
import { linking, OPERATOR, tenant } from '../../support/memories.js';

const AGENT = 'ai:coder';

const rule = (namespacePattern: string, decision: PermissionRule['decision']): PermissionRule => ({
  ...{ namespacePattern, op: 'memory_link', agentPattern: '*', decision, reason: null },
});

const WORDS = ['link', 'kg_invalidate', 'unlink'] as const;

function commandOf(word: (typeof WORDS)[number], source: string, target: string): Command {
  const { link } = linking(source, target);
  const viewer = tenant(AGENT);
  const asked = { valid_from: null, valid_until: null };
  if (word === 'link') return { kind: 'create-link', link, asked, viewer, by: AGENT };
  if (word === 'unlink')
    return { kind: 'drop-links', sourceId: source, targetId: target, relation: null, viewer };
  return { kind: 'invalidate-link', link, validUntil: null, viewer, by: AGENT };
}

/** A node with a memory of the agent in `open` and one in `closed`; they are linked where the word needs a link. */
function linked(word: (typeof WORDS)[number], rules: readonly PermissionRule[]) {
  const node = governedWriter({ rules });
  const [open, closed] = [node.stored('open', AGENT), node.stored('closed', AGENT)];
  if (word !== 'link')
    for (const [source, target] of [
      [open, closed],
      [closed, open],
    ] as const)
      node.must(linking(source, target));
  return { node, open, closed };
}

const links = ({ db }: ReturnType<typeof governedWriter>) =>
  db.prepare('SELECT source_id, target_id, retired_at IS NOT NULL AS ended FROM memory_links').all();

for (const word of WORDS) {
  describe(`permission rules and ${word}`, () => {
    it('deny it in the namespace of either end, record that, and change nothing', () => {
      const { node, open, closed } = linked(word, [rule('closed', 'deny')]);
      const before = links(node);
      for (const [source, target] of [
        [open, closed],
        [closed, open],
      ] as const) {
        const failure = node.refused(commandOf(word, source, target));
        assert.equal(failure.code, 'GOVERNANCE_REFUSED');
        assert.match(failure.message, new RegExp(`refuses to ${word} in namespace "closed"`));
      }
      assert.deepEqual(links(node), before);
      assert.deepEqual(
        node.records(POLICY_REFUSAL).map(({ payload }) => [payload['action'], payload['op']]),
        [
          [word, 'memory_link'],
          [word, 'memory_link'],
        ],
      );
    });

    it('let it pass elsewhere, and where a policy is about memories only', () => {
      const { node, open } = linked(word, [rule('other/**', 'deny')]);
      const second = node.stored('open', AGENT);
      const governance = { write: 'approve', promote: 'owner', delete: 'approve' };
      const viewer = { ...OPERATOR, agentId: 'ai:governor' };
      node.must({ kind: 'set-standard', namespace: 'open', governance, viewer });
      if (word !== 'link') node.must(linking(open, second));
      node.must(commandOf(word, open, second));
    });

    it('ask the approver of the policy, and the approved action is executed once', () => {
      const { node, open, closed } = linked(word, [rule('closed', 'ask')]);
      for (const agent of ['ai:lead', 'ai:another']) node.register(agent);
      const governance = { write: 'any', approver: { agent: 'ai:lead' } };
      const viewer = { ...OPERATOR, agentId: 'ai:governor' };
      node.must({ kind: 'set-standard', namespace: 'closed', governance, viewer });
      const before = links(node);
      const command = commandOf(word, open, closed);
      const refused = node.refused(command);
      assert.equal(refused.code, 'APPROVAL_REQUIRED');
      const { reads, asked, becomes, ...told } = detailsOf(refused, 'APPROVAL_REQUIRED')!;
      assert.deepEqual(becomes, []);
      assert.deepEqual(asked, [{ gate: 'link', namespace: 'closed' }]);
      assert.deepEqual(told, {
        ...{ action: word, namespace: 'closed', memory_id: open },
        approver: { form: 'agent', agent: 'ai:lead' },
      });
      assert.deepEqual(links(node), before);
      node.must({
        ...{ kind: 'request-approval', pendingId: 'p', command, action: word, namespace: 'closed' },
        ...{ memoryId: open, approver: { form: 'agent', agent: 'ai:lead' }, requestedBy: AGENT },
        ...({ reads, asked } as Pick<Required<RequestApproval>, 'reads' | 'asked'>),
      });
      const vote = { kind: 'vote-pending', pendingId: 'p', decision: 'approve', remember: 'once' } as const;
      assert.equal(node.refused({ ...vote, agentId: 'ai:another' }).code, 'GOVERNANCE_REFUSED');
      node.must({ ...vote, agentId: 'ai:lead' });
      assert.notDeepEqual(links(node), before);
      assert.deepEqual(node.records('pending_action.approved'), [
        { agent: 'ai:lead', payload: { pending_id: 'p', action_type: word, namespace: 'closed' } },
      ]);
      assert.equal(node.refused({ ...vote, agentId: 'ai:lead' }).code, 'PENDING_ACTION_STATE_INVALID');
    });

    it('give a caller no right over the links of others when an approver agrees', () => {
      const { node, open, closed } = linked(word, [rule('closed', 'ask')]);
      node.register('ai:lead');
      const by = word === 'unlink' ? {} : { by: 'ai:stranger' };
      const stranger = { ...commandOf(word, closed, open), viewer: tenant('ai:stranger'), ...by } as Command;
      node.must({
        ...{ kind: 'request-approval', pendingId: 'p', command: stranger, action: word, namespace: 'closed' },
        ...{ memoryId: closed, approver: { form: 'human' }, requestedBy: 'ai:stranger' },
      });
      const vote = { kind: 'vote-pending', pendingId: 'p', agentId: 'ai:lead', remember: 'once' } as const;
      assert.equal(node.refused({ ...vote, decision: 'approve' }).code, 'FORBIDDEN');
    });
  });
}

it('a link of memories that the caller does not see is not found, whatever the rules say', () => {
  const node = governedWriter({ rules: [rule('**', 'deny')] });
  const [open, closed] = [node.stored('open', AGENT), node.stored('closed', AGENT)];
  for (const end of [open, closed])
    node.db
      .prepare(`UPDATE memories SET metadata = replace(metadata, '{', '{"scope":"private",') WHERE id = ?`)
      .run(end);
  const hidden = { ...commandOf('link', open, closed), viewer: tenant('ai:stranger') } as Command;
  assert.equal(node.refused(hidden).code, 'NOT_FOUND');
  assert.deepEqual(node.records(POLICY_REFUSAL), []);
});
