import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { GovernedDaemon, type Row } from './governed-daemon.js';

const BOUND = 'ai:bound';
const NAMED = 'ai:named';
const LEAD = 'ai:lead';
const SECOND = 'ai:second';

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start('requesters', { env: { SVC_MAX_STORAGE_BYTES: '400000' } });
  await node.register(BOUND, NAMED, LEAD, SECOND);
  await node.govern('ask', { write: 'approve' });
});
after(() => node.end());

const named = (title: string) => ({ namespace: 'ask', title, content: 'c', agent_id: NAMED });
const isRefused = ({ code, message, error = message }: Row) => {
  assert.equal(code, 'GOVERNANCE_REFUSED', String(error));
  assert.match(String(error), /requested the action itself/);
};

describe('who requests an action does not decide it', { timeout: 120_000 }, () => {
  it('under the name that a tool gives for its writes, nor under another name', async () => {
    await node.tools(BOUND, async (tool) => {
      const { pending_id: id, ...asked } = await tool('memory_store', named('by tool'));
      assert.equal(asked['status'], 'pending', JSON.stringify(asked));
      isRefused(await tool('memory_pending_approve', { id }));
      isRefused(await tool('memory_pending_approve', { id, agent_id: LEAD }));
      isRefused(await tool('memory_pending_reject', { id, agent_id: LEAD }));
      for (const agent of [BOUND, NAMED, 'ai:BOUND', 'ai:Named']) {
        const { status, body } = await node.approve(agent, id);
        assert.equal(status, 403, `${agent}: ${JSON.stringify(body)}`);
      }
      const listed = await tool('memory_pending_list', { status: 'pending' });
      assert.ok(JSON.stringify(listed).includes(String(id)), 'the caller sees what it requested');
      assert.equal((await node.approve(LEAD, id)).status, 200);
    });
    const [memory] = await node.memories(NAMED, 'ask');
    assert.equal((memory!['metadata'] as Row)['agent_id'], NAMED);
  });

  it('under the name that a command gives for its writes, nor under another name', async () => {
    const env = { SVC_AGENT_ID: BOUND };
    const store = ['store', '--namespace', 'ask', '--title', 'by command', '--content', 'c'];
    const { out, err } = await node.cli([...store, '--agent-id', NAMED, '--json'], env);
    assert.notEqual(out, '', err);
    const { pending_id: id } = JSON.parse(out) as Row;
    for (const word of ['approve', 'reject']) {
      const self = await node.cli(['pending', word, String(id), '--agent-id', LEAD], env);
      assert.notEqual(self.code, 0, self.out);
      assert.match(self.err, /requested the action itself/);
      const writer = await node.cli(['pending', word, String(id), '--agent-id', NAMED]);
      assert.notEqual(writer.code, 0, writer.out);
    }
    assert.equal((await node.approve(LEAD, id)).status, 200);
  });

  it('and what is remembered holds for the one who called', async () => {
    const { pending_id: id } = await node.tools(BOUND, (tool) => tool('memory_store', named('remembered')));
    assert.equal((await node.approve(LEAD, id, 'forever')).status, 200);
    assert.equal((await node.store(NAMED, 'ask', 'of the named one')).status, 202);
    assert.equal((await node.store(BOUND, 'ask', 'of the bound one')).status, 201);
  });
});

describe('a remembered decision', { timeout: 120_000 }, () => {
  it('counts only while the policy names the approver under which it was made', async () => {
    await node.govern('memo', { write: 'approve' });
    const { body } = await node.store(SECOND, 'memo', 'one');
    assert.equal((await node.approve(LEAD, body['pending_id'], 'forever')).status, 200);
    assert.equal((await node.store(SECOND, 'memo', 'two')).status, 201);
    await node.govern('memo', { write: 'approve', approver: { consensus: 3 } });
    assert.equal((await node.store(SECOND, 'memo', 'three')).status, 202);
    await node.govern('memo', { write: 'approve', approver: { agent: NAMED } });
    assert.equal((await node.store(SECOND, 'memo', 'four')).status, 202);
    await node.govern('memo', { write: 'approve', approver: 'human' });
    assert.equal((await node.store(SECOND, 'memo', 'five')).status, 201);
  });

  it('about an edit is none about a move or a promotion', async () => {
    await node.govern('edits', { write: 'any' });
    const id = await node.stored(SECOND, 'edits', 'one');
    await node.govern('edits', { write: 'approve', delete: 'approve', promote: 'approve' });
    const put = (patch: Row) => node.call(SECOND, 'PUT', `/memories/${id}`, patch);
    const { body } = await put({ title: 'two' });
    assert.equal((await node.approve(LEAD, body['pending_id'], 'forever')).status, 200);
    assert.equal((await put({ title: 'three' })).status, 200);
    for (const patch of [{ namespace: 'away' }, { tier: 'long' }, { scope: 'private' }])
      assert.equal((await put(patch)).status, 202, JSON.stringify(patch));
    const { body: moving } = await put({ namespace: 'away' });
    assert.equal((await node.approve(LEAD, moving['pending_id'], 'forever')).status, 200);
    const other = await node.call(SECOND, 'PUT', `/memories/${id}`, { namespace: 'back' });
    assert.equal(other.status, 200);
    const revoke = ['pending', 'revoke', '--namespace', 'edits', '--action', 'update', '--agent', SECOND];
    assert.equal((await node.cli(revoke)).out, 'removed\n');
    assert.equal((await node.cli(revoke)).out, 'there is no such decision\n');
  });

  it('is not what one agent denies where several decide together', async () => {
    await node.govern('many', { write: 'approve', approver: { consensus: 3 } });
    const { body } = await node.store(SECOND, 'many', 'one');
    const path = `/pending/${body['pending_id']}/reject`;
    assert.equal((await node.call(LEAD, 'POST', path, { remember: 'forever' })).status, 200);
    assert.equal((await node.store(SECOND, 'many', 'two')).status, 202);
  });
});

describe('a request for an approval', { timeout: 120_000 }, () => {
  it('is charged to its requester as what it asks to write, also when it is rejected', async () => {
    const spender = 'ai:spender';
    const content = 'x'.repeat(60_000);
    let taken = 0;
    let last: Row = {};
    for (let n = 0; n < 200 && last['code'] === undefined; n += 1) {
      const { status, body } = await node.store(spender, 'ask', `big ${n}`, { content });
      if (status === 202) {
        taken += 1;
        assert.equal((await node.call(LEAD, 'POST', `/pending/${body['pending_id']}/reject`)).status, 200);
      } else last = body;
    }
    assert.deepEqual(
      [last['code'], (last['details'] as Row)?.['limit'] ?? last['limit']],
      ['QUOTA_EXCEEDED', 'written_bytes_per_day'],
    );
    assert.ok(taken > 2 && taken < 100, String(taken));
    assert.equal((await node.store('ai:other', 'ask', 'of another')).status, 202);
  });
});

describe('requests of a day', { timeout: 120_000 }, () => {
  it('are as many as the memories of a day, whatever becomes of them, on every surface', async () => {
    const few = await GovernedDaemon.start('requests-of-a-day', { env: { SVC_MAX_MEMORIES_PER_DAY: '4' } });
    try {
      await few.register(LEAD);
      await few.govern('ask', { write: 'approve' });
      for (let n = 0; n < 3; n += 1) {
        const { status, body } = await few.store(SECOND, 'ask', `row ${n}`);
        assert.equal(status, 202, JSON.stringify(body));
        assert.equal((await few.call(LEAD, 'POST', `/pending/${body['pending_id']}/reject`)).status, 200);
      }
      const last = await few.tools(SECOND, (tool) =>
        tool('memory_store', { namespace: 'ask', title: 'fourth', content: 'c' }),
      );
      assert.equal(last['status'], 'pending', JSON.stringify(last));
      const { status, body } = await few.store(SECOND, 'ask', 'fifth');
      assert.deepEqual([status, body['code']], [429, 'QUOTA_EXCEEDED']);
      const command = ['store', '--namespace', 'ask', '--title', 'sixth', '--content', 'c'];
      const { err } = await few.cli([...command, '--agent-id', SECOND]);
      assert.match(err, /requests_per_day/);
      assert.equal((await few.store(SECOND, 'free', 'no request')).status, 201);
    } finally {
      await few.end();
    }
  });
});
