import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { commandsIn } from './cli-process.js';

describe('reown', { timeout: 120_000 }, () => {
  const cli = commandsIn(temporaryFolder('reown'));
  const json = async (...words: string[]) => {
    const { code, out, err } = await cli(...words, '--json');
    assert.equal(code, 0, err);
    return JSON.parse(out) as Record<string, unknown>;
  };
  const owners = async (namespace: string) =>
    (
      (await json('list', '--namespace', namespace))['memories'] as { metadata: Record<string, unknown> }[]
    ).map(({ metadata }) => [metadata['agent_id'], metadata['attest_level']]);

  it('gives the memories of one namespace to an agent, which only claims them then, and says so in the audit chain', async () => {
    for (const [title, agent, namespace] of [
      ['a', 'ai:old', 'team'],
      ['b', 'ai:new', 'team'],
      ['c', 'ai:old', 'team/sub'],
    ] as const) {
      await json(
        'store',
        '--title',
        title,
        '--content',
        title,
        '--namespace',
        namespace,
        '--agent-id',
        agent,
      );
    }
    const words = ['reown', '--namespace', 'team', '--to', 'ai:new'];
    assert.deepEqual(await json(...words, '--dry-run'), { matched: 1, rewritten: 0, dry_run: true });
    assert.deepEqual(await json(...words), { matched: 1, rewritten: 1, dry_run: false });
    assert.deepEqual(await json(...words), { matched: 0, rewritten: 0, dry_run: false });
    const [one, other] = await owners('team');
    assert.deepEqual([one![0], other![0]], ['ai:new', 'ai:new']);
    assert.ok([one![1], other![1]].includes('claimed'));
    assert.equal((await owners('team/sub'))[0]![0], 'ai:old');
    const { events } = await json('audit', 'show', '--limit', '1');
    const [event] = events as { event_type: string; payload: Record<string, unknown> }[];
    assert.equal(event!.event_type, 'memory.reowned');
    assert.deepEqual([event!.payload['from'], event!.payload['to']], ['ai:old', 'ai:new']);
    assert.equal((await cli('verify-audit-trail')).code, 0);
  });

  it('refuses namespaces of the service, and what is no agent id', async () => {
    assert.equal((await cli('reown', '--namespace', '_agents', '--to', 'ai:new')).code, 2);
    assert.equal((await cli('reown', '--namespace', 'team', '--to', 'not an id')).code, 2);
    assert.equal((await cli('reown', '--namespace', 'team')).code, 2);
  });
});
