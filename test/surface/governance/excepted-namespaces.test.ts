import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN, GovernedDaemon } from '../../support/governed-daemon.js';
import { run } from '../cli/cli-process.js';

/** Who sets a standard hears where below it does not count, because of what was set there before. */

type Json = Record<string, unknown>;

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start();
});
after(() => node.end());

async function set(agent: string, namespace: string, standard: Json): Promise<Json> {
  const { status, body } = await node.call(agent, 'POST', '/namespaces', { namespace, ...standard });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}
const policy = (agent: string, namespace: string, governance: Json) => set(agent, namespace, { governance });

describe('the answer to setting a standard', () => {
  it('names the namespaces below that a policy does not reach, and at which gates', async () => {
    await policy(ADMIN, 'team/open', { write: 'any' });
    await policy(ADMIN, 'team/apart/deep', { write: 'any', delete: 'any', inherit: false });
    await policy(ADMIN, 'team/strict', { write: 'approve', approver: { consensus: 3 }, delete: 'owner' });
    await set(ADMIN, 'team/moved', { parent: 'free' });
    await policy('ai:bob', 'team/bobs', { write: 'any' });
    await policy(ADMIN, 'teamwork', { write: 'any' });
    const { excepted } = await policy(ADMIN, 'team', { write: 'registered', delete: 'owner' });
    assert.deepEqual(excepted, [
      { namespace: 'team/apart/deep', memory: false, gates: ['write', 'delete'] },
      { namespace: 'team/moved', memory: false, gates: ['write'] },
      { namespace: 'team/open', memory: false, gates: ['write'] },
    ]);
    const refused = await node.call('ai:x', 'POST', '/memories', {
      namespace: 'team/bobs',
      title: 'a',
      content: 'b',
    });
    assert.equal(refused.status, 403, 'the policy of the admin counts there');
    const taken = await node.call('ai:x', 'POST', '/memories', {
      namespace: 'team/open',
      title: 'a',
      content: 'b',
    });
    assert.equal(taken.status, 201);
  });

  it('names those that a pinned memory does not reach', async () => {
    await set(ADMIN, 'club/else', { parent: 'free' });
    await policy(ADMIN, 'club/below', { write: 'any' });
    const memory = { namespace: 'club', title: 'rules', content: 'be kind' };
    const { body } = await node.call(ADMIN, 'POST', '/memories', memory);
    const { excepted } = await set(ADMIN, 'club', { id: body['id'] });
    assert.deepEqual(excepted, [{ namespace: 'club/else', memory: true, gates: [] }]);
  });

  it('names to an agent only what it set itself', async () => {
    await policy('ai:carol', 'lab/mine', { write: 'any' });
    await policy('ai:dave', 'lab/secret-plan', { write: 'any' });
    const { excepted } = await policy('ai:carol', 'lab', { write: 'owner' });
    assert.deepEqual(excepted, [{ namespace: 'lab/mine', memory: false, gates: ['write'] }]);
  });

  it('says it on the command line, and nothing where all below inherits', async () => {
    await policy(ADMIN, 'shop/free', { write: 'any' });
    const words = ['namespace', 'set-standard', '--namespace', 'shop', '--governance'];
    const strict = await run(node.daemon.home, [...words, '{"write":"approve"}']);
    assert.match(strict.out, /not in shop\/free and below \(write\)/);
    const loose = await run(node.daemon.home, [...words, '{"write":"any"}']);
    assert.doesNotMatch(loose.out, /not in/);
    const everywhere = await run(node.daemon.home, [
      ...['namespace', 'set-standard', '--namespace', '*', '--governance', '{"write":"registered"}'],
    ]);
    assert.match(everywhere.out, /not in shop\/free and below \(write\)/);
  });
});
