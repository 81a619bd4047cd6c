import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { run } from './cli-process.js';

describe('the life cycle on the command line', () => {
  const home = temporaryFolder('cli-life');
  const mnemesh = async (...args: string[]) => {
    const { code, out, err } = await run(home, [...args, '--json']);
    const text = code === 0 ? out : err;
    return { code, answer: JSON.parse(text) as Record<string, unknown> };
  };
  const store = async (title: string, ...rest: string[]) => {
    const { answer } = await mnemesh('store', '-T', title, '-c', `about ${title}`, ...rest);
    return String(answer['id']);
  };

  it('forgets only with a filter, and counts first', async () => {
    await store('scratch', '-n', 'scratch');
    const bare = await mnemesh('forget');
    assert.deepEqual([bare.code, bare.answer['code']], [2, 'VALIDATION_FAILED']);
    assert.match(String(bare.answer['error']), /--confirm-global/);
    const dry = await mnemesh('forget', '-n', 'scratch', '--dry-run');
    assert.deepEqual(dry.answer, { would_delete: 1, dry_run: true });
    const done = await mnemesh('forget', '-p', 'scratch');
    assert.deepEqual(done.answer, { deleted: 1, archived: true });
    const { answer } = await mnemesh('archive', 'list', '-n', 'scratch');
    assert.equal(answer['count'], 1);
    assert.match((await run(home, ['archive', 'list'])).out, /scratch/);
    assert.deepEqual((await mnemesh('archive', 'purge')).answer, { purged: 1, owner_scope: 'admin' });
    assert.equal((await mnemesh('archive', 'stats')).answer['archived_total'], 0);
  });

  it('forgets everything but the records of agents, which are no memories to forget', async () => {
    await mnemesh('agents', 'register', '--agent-id', 'ai:writer', '--agent-type', 'ai:coder');
    await store('long one', '-t', 'long');
    await store('another');
    assert.deepEqual((await mnemesh('forget', '-n', '_agents')).answer, { deleted: 0, archived: true });
    const long = await mnemesh('forget', '-t', 'long');
    assert.deepEqual(long.answer, { deleted: 1, archived: true });
    const dry = await mnemesh('forget', '--confirm-global', '--dry-run');
    const all = await mnemesh('forget', '--confirm-global');
    assert.deepEqual(all.answer, { deleted: dry.answer['would_delete'], archived: true });
    assert.equal((await mnemesh('agents', 'list')).answer['count'], 1);
    await mnemesh('archive', 'purge');
  });

  it('restores by a prefix, and fails for what is not there', async () => {
    const id = await store('kept');
    await mnemesh('delete', id);
    assert.deepEqual((await mnemesh('archive', 'restore', id.slice(0, 8))).answer, { restored: true, id });
    const again = await mnemesh('archive', 'restore', id);
    assert.deepEqual([again.code, again.answer['code']], [1, 'NOT_FOUND']);
    assert.deepEqual((await mnemesh('gc')).answer, { expired_deleted: 0 });
  });

  it('consolidates ids, and groups by namespace and first tag', async () => {
    const ids = [await store('one'), await store('two')];
    const { answer } = await mnemesh('consolidate', ids.join(','), '--title', 'both', '-s', 'one and two');
    assert.equal(answer['consolidated'], 2);
    assert.deepEqual(Object.keys(answer), ['id', 'consolidated']);
    for (const title of ['a', 'b', 'c']) await store(title, '--tags', 'daily', '-t', 'short', '-n', 'log');
    const dry = await mnemesh('auto-consolidate', '--short-only', '--dry-run');
    assert.deepEqual(dry.answer, {
      dry_run: true,
      groups: [{ namespace: 'log', tag: 'daily', count: 3, titles: ['a', 'b', 'c'] }],
    });
    const none = await mnemesh('auto-consolidate', '--min-count', '4');
    assert.deepEqual(none.answer, { consolidated: 0, groups: [] });
    const done = await mnemesh('auto-consolidate', '-n', 'log');
    assert.equal(done.answer['consolidated'], 3);
    const [group] = done.answer['groups'] as { id: string }[];
    const read = await mnemesh('get', group!.id);
    const memory = read.answer['memory'] as Record<string, unknown>;
    assert.equal(memory['content'], '# a\nabout a\n\n# b\nabout b\n\n# c\nabout c');
    assert.equal(memory['title'], 'Consolidated: daily');
    const idle = await mnemesh('auto-consolidate', '-n', 'log');
    assert.equal(idle.answer['consolidated'], 0, 'a second run finds nothing to do');
  });

  it('settles a contradiction', async () => {
    const [winner, loser] = [await store('right'), await store('wrong')];
    const { answer } = await mnemesh('resolve', winner.slice(0, 8), loser);
    assert.deepEqual(answer, { resolved: true, winner, loser });
    assert.equal((await mnemesh('get', loser)).code, 1);
  });

  it('undoes an edit', async () => {
    const id = await store('draft');
    assert.equal((await mnemesh('undo-edit', id)).answer['code'], 'NOT_FOUND');
    await mnemesh('update', id, '-c', 'worse', '-p', '9');
    const dry = await mnemesh('undo-edit', id, '--dry-run');
    assert.deepEqual([dry.answer['undone'], dry.answer['changed']], [false, ['content', 'priority']]);
    const { answer } = await mnemesh('undo-edit', id);
    const memory = answer['memory'] as Record<string, unknown>;
    assert.deepEqual([memory['content'], memory['priority'], memory['version']], ['about draft', 5, 3]);
    assert.equal((memory['metadata'] as Record<string, unknown>)['attest_level'], 'claimed');
  });

  it('promotes into a namespace above', async () => {
    const id = await store('finding', '-n', 'team/alpha');
    const refused = await mnemesh('promote', id, '--to-namespace', 'other');
    assert.equal(refused.answer['code'], 'VALIDATION_FAILED');
    const { answer } = await mnemesh('promote', id, '--to-namespace', 'team');
    assert.deepEqual([answer['mode'], answer['source_id'], answer['to_namespace']], ['vertical', id, 'team']);
    assert.equal((await mnemesh('get', String(answer['clone_id']))).code, 0);
  });

  it('leaves a log that tells the same story', () => {
    assert.deepEqual(auditLog(`${home}/mnemesh.db`), []);
  });
});
