import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { POLICY_REFUSALS_OF_AGENT_MAX, POLICY_REFUSALS_OF_NODE_MAX } from '../../protocol/base/limits.js';
import type { PermissionRule } from '../../protocol/decide/permissions.js';
import { POLICY_REFUSAL } from '../../protocol/policies/note-refusal.js';
import { governedWriter } from '../support/governed-writer.js';
import { OPERATOR, storing, tenant } from '../support/memories.js';

const CLOSED: PermissionRule = {
  ...{ namespacePattern: 'closed', op: 'memory_store', agentPattern: 'ai:*' },
  ...{ decision: 'deny', reason: 'it is closed' },
};
const DAY_MS = 86_400_000;

const closed = (agent: string) =>
  storing(
    { namespace: 'closed', title: 'the secret title', content: 'the secret words' },
    { viewer: tenant(agent) },
  );

describe('what a policy refuses', () => {
  it('is in the audit chain, with the reason and without the content', () => {
    const node = governedWriter({ rules: [CLOSED] });
    const governance = { write: 'any', delete: 'owner' };
    node.must({
      ...{ kind: 'set-standard', namespace: 'team', governance },
      viewer: { ...OPERATOR, agentId: 'ai:lead' },
    });
    const id = node.stored('team');
    const command = closed('ai:a');
    assert.equal(node.refused(command).code, 'GOVERNANCE_REFUSED');
    const deleting = { kind: 'delete-memory', id, archive: false, viewer: tenant('ai:b') } as const;
    assert.equal(node.refused(deleting).code, 'GOVERNANCE_REFUSED');
    assert.deepEqual(node.records(POLICY_REFUSAL), [
      {
        agent: 'ai:a',
        payload: {
          ...{ action: 'store', op: 'memory_store', namespace: 'closed' },
          ...{ memory_id: command.memory.id, reason: 'it is closed' },
        },
      },
      {
        agent: 'ai:b',
        payload: {
          ...{ action: 'delete', op: 'memory_delete', namespace: 'team', memory_id: id },
          reason: 'only the owner may delete in "team"',
        },
      },
    ]);
    assert.ok(!JSON.stringify(node.records(POLICY_REFUSAL)).includes('secret'));
  });

  it('is recorded when its policy cannot be evaluated, unless that lets it pass', () => {
    for (const failOpen of [false, true]) {
      const node = governedWriter({ failOpen });
      const image = {
        ...{ namespace: 'team', standard_id: null, parent_namespace: null, set_by: null },
        ...{ governance: { write: 'coming' }, updated_at: '2026-01-01T00:00:00.000Z', rest: {} },
      };
      const record = { kind: 'standard', id: 'team', namespace: 'team', image };
      node.must({ kind: 'import-record', record, revive: true });
      const result = node.run(storing({ namespace: 'team' }, { viewer: tenant('ai:a') }));
      assert.equal(result.ok, failOpen);
      assert.deepEqual(
        node.records(POLICY_REFUSAL).map(({ payload }) => payload['reason']),
        failOpen ? [] : ['policy_unreadable'],
      );
    }
  });

  it('leaves no record where it is let pass, or waits', () => {
    for (const [mode, decision, code] of [
      ['advisory', 'deny', 'ok'],
      ['off', 'deny', 'ok'],
      ['enforce', 'ask', 'APPROVAL_REQUIRED'],
    ] as const) {
      const node = governedWriter({ mode, rules: [{ ...CLOSED, decision }] });
      const result = node.run(closed('ai:a'));
      assert.equal(result.ok ? 'ok' : result.error.code, code);
      assert.deepEqual(node.records(POLICY_REFUSAL), []);
    }
  });

  it('is recorded so many times a day for one agent, and the last record says so', () => {
    const node = governedWriter({ rules: [CLOSED] });
    for (let n = 0; n < POLICY_REFUSALS_OF_AGENT_MAX + 20; n += 1)
      assert.equal(node.refused(closed('ai:flood')).code, 'GOVERNANCE_REFUSED');
    node.refused(closed('ai:other'));
    const records = node.records(POLICY_REFUSAL);
    assert.equal(records.length, POLICY_REFUSALS_OF_AGENT_MAX + 1);
    const last = records.flatMap(({ payload }, at) => (payload['last_of_day'] === true ? [at] : []));
    assert.deepEqual(last, [POLICY_REFUSALS_OF_AGENT_MAX - 1]);
    assert.equal(records.at(-1)!.agent, 'ai:other');
    node.nowMs += DAY_MS;
    node.refused(closed('ai:flood'));
    assert.equal(node.records(POLICY_REFUSAL).length, POLICY_REFUSALS_OF_AGENT_MAX + 2);
  });

  it('counts the ids that the service makes for requests as one agent', () => {
    const node = governedWriter({ rules: [{ ...CLOSED, agentPattern: '**' }] });
    for (let n = 0; n < POLICY_REFUSALS_OF_AGENT_MAX + 5; n += 1)
      node.refused(closed(`anonymous:req-${n.toString(16).padStart(8, '0')}`));
    const agents = node.records(POLICY_REFUSAL).map(({ agent }) => agent);
    assert.equal(agents.length, POLICY_REFUSALS_OF_AGENT_MAX);
    assert.deepEqual([...new Set(agents)], ['anonymous:req-*']);
  });

  it('is recorded so many times a day for all names together', () => {
    const node = governedWriter({ rules: [CLOSED] });
    for (let n = 0; n < POLICY_REFUSALS_OF_NODE_MAX + 50; n += 1) node.refused(closed(`ai:name-${n}`));
    const records = node.records(POLICY_REFUSAL);
    assert.equal(records.length, POLICY_REFUSALS_OF_NODE_MAX);
    assert.equal(records.at(-1)!.payload['last_of_day'], true);
  });
});
