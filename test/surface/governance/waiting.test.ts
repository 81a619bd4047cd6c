import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { APPROVER, ASK, GovernedDaemon, REQUESTER } from '../../support/governed-daemon.js';
import { commandsIn, type Finished } from '../cli/cli-process.js';

let node: GovernedDaemon;
let run: (...args: string[]) => Promise<Finished>;
before(async () => {
  node = await GovernedDaemon.start();
  run = commandsIn(node.daemon.home);
});
after(() => node.end());

describe('the exit code', () => {
  it('of a write that waits for an approval is its own, also with --json', async () => {
    for (const [title, more] of [
      ['one', []],
      ['two', ['--json']],
    ] as const) {
      const said = [
        'store',
        '--namespace',
        ASK,
        '--title',
        title,
        '--content',
        'words',
        '--agent-id',
        REQUESTER,
      ];
      const { code, out, err } = await run(...said, ...more);
      assert.equal(code, 3, out + err);
    }
    const { code } = await run('store', '--namespace', 'else', '--title', 'x', '--content', 'words');
    assert.equal(code, 0);
  });

  it('of a check says whether the rules refuse the action', async () => {
    const rule = ['--id', 'no-force', '--kind', 'bash', '--matcher', '{"command_substring":"push --force"}'];
    assert.equal((await run('rules', 'add', ...rule, '--reason', 'ask first')).code, 0);
    const check = ['governance', 'check-action', '--kind', 'bash', '--command'];
    for (const more of [[], ['--json']]) {
      assert.equal((await run(...check, 'git push --force', ...more)).code, 4);
      assert.equal((await run(...check, 'git push', ...more)).code, 0);
    }
  });
});

describe('a request that cannot succeed', () => {
  it('is refused at once where it would have to wait', async () => {
    const governance = { write: 'approve', promote: 'approve', delete: 'approve' };
    const id = await node.request('taken');
    await node.decide(id, 'approve');
    const { body } = await node.call(REQUESTER, 'GET', `/memories?namespace=${ASK}`);
    const [row] = body['memories'] as Record<string, unknown>[];
    const set = await node.call('ai:owner', 'POST', `/namespaces/${ASK}/standard`, { governance });
    assert.equal(set.status, 201, JSON.stringify(set.body));
    const taken = { namespace: ASK, title: 'taken', content: 'other words' };
    const again = await node.call(REQUESTER, 'POST', '/memories', taken);
    assert.deepEqual([again.status, again.body['code']], [409, 'CONFLICT']);
    const stale = await node.call(
      REQUESTER,
      'PUT',
      `/memories/${row!['id']}`,
      { content: 'x' },
      { 'if-match': '"9"' },
    );
    assert.ok(stale.status === 409 || stale.status === 412, JSON.stringify(stale.body));
    const gone = '00000000-0000-4000-8000-000000000000';
    assert.equal((await node.call(REQUESTER, 'PUT', `/memories/${gone}`, { content: 'x' })).status, 404);
    assert.equal((await node.call(REQUESTER, 'DELETE', `/memories/${gone}`)).status, 404);
    const aside = await node.call(REQUESTER, 'POST', `/memories/${row!['id']}/promote`, {
      to_namespace: 'elsewhere',
    });
    assert.equal(aside.status, 400, JSON.stringify(aside.body));
  });
});

describe('a pending action', () => {
  it('is named by a unique beginning of its id, over HTTP and on the command line', async () => {
    const [first, second, third] = [
      await node.request('first'),
      await node.request('second'),
      await node.request('third'),
    ];
    const approved = await node.call(APPROVER, 'POST', `/pending/${first.slice(0, 8)}/approve`);
    assert.deepEqual([approved.status, approved.body['id']], [200, first]);
    const rejected = await node.call(APPROVER, 'POST', `/pending/${second.slice(0, 8)}/reject`);
    assert.deepEqual([rejected.status, rejected.body['id']], [200, second]);
    const { code, out, err } = await run('pending', 'approve', third.slice(0, 8), '--agent-id', APPROVER);
    assert.equal(code, 0, err);
    assert.match(out, new RegExp(third));
  });

  it('is not named by a beginning of several, nor to who may not know of it', async () => {
    const ids: string[] = [];
    const twice = () => ids.find((id, at) => ids.some((other, of) => of !== at && other[0] === id[0]));
    while (twice() === undefined) ids.push(await node.request(`more ${ids.length}`));
    const many = await node.call(APPROVER, 'POST', `/pending/${twice()![0]}/approve`);
    assert.deepEqual([many.status, many.body['code']], [400, 'AMBIGUOUS_ID_PREFIX']);
    for (const [agent, prefix] of [
      ['ai:stranger', ids[0]!.slice(0, 8)],
      [APPROVER, 'zzzzzzzz'],
    ] as const) {
      const none = await node.call(agent, 'POST', `/pending/${prefix}/approve`);
      assert.deepEqual([none.status, none.body['code']], [404, 'PENDING_ACTION_NOT_FOUND']);
    }
  });
});
