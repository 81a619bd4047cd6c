import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { openBeside } from '../../support/test-store.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

const MEMORY = '3f2a9c1e-0000-4000-8000-00000000000';

describe('mnemesh jobs', () => {
  const home = temporaryFolder('jobs-cli');
  const command = (...args: string[]) => run(home, ['jobs', ...args]);
  const json = async (...args: string[]) => {
    const { code, out, err } = await command(...args, '--json');
    assert.equal(code, 0, err);
    return JSON.parse(out) as Row;
  };
  const refusal = async (...args: string[]) => {
    const { code, err } = await command(...args, '--json');
    const { code: word, error } = JSON.parse(err.trim().split('\n').at(-1)!) as Row;
    return [code, word, error];
  };

  before(async () => {
    assert.equal((await run(home, ['store', '--title', 'a', '--content', 'b'])).code, 0);
    const db = openBeside({ home });
    const insert = db.prepare(
      `INSERT INTO jobs (id, type, state, caller, local, input, due_at, created_at, ended_at, runs, attempts, interruptions, waits, run, steps, error_code, error)
       VALUES (@id, 'auto_tag', @state, 'ai:one', 0, @input, @at, @at, @ended, @runs, @runs, 0, 0, @run, @steps, @code, @error)`,
    );
    const states = ['queued', 'running', 'failed', 'done', 'queued', 'paused'];
    for (const [n, state] of states.entries()) {
      const hasEnded = state === 'failed' || state === 'done';
      insert.run({
        ...{ id: `auto_tag:${MEMORY}${n}:1`, state, input: `{"memory_id":"${MEMORY}${n}"}` },
        ...{ at: `2026-01-0${n + 1}T00:00:00.000Z`, ended: hasEnded ? '2026-01-09T00:00:00.000Z' : null },
        ...{
          runs: state === 'failed' ? 3 : 0,
          run: state === 'running' ? 'r' : null,
          steps: n === 1 ? '{"tags":["x"]}' : '{}',
        },
        ...{
          code: state === 'failed' ? 'LLM_FAILED' : null,
          error: state === 'failed' ? 'the answer is no tag' : null,
        },
      });
    }
    db.close();
  });

  it('lists them, the newest first, with the totals', async () => {
    const all = await json('list');
    assert.deepEqual(
      [all['count'], all['totals']],
      [6, { done: 1, failed: 1, paused: 1, queued: 2, running: 1 }],
    );
    assert.deepEqual((all['jobs'] as Row[])[0], {
      ...{ id: `auto_tag:${MEMORY}5:1`, type: 'auto_tag', state: 'paused', agent_id: 'ai:one' },
      ...{ created_at: '2026-01-06T00:00:00.000Z', runs: 0, attempts: 0 },
    });
    const failed = await json('list', '--state', 'failed', '--type', 'auto_tag');
    const [only] = failed['jobs'] as Row[];
    assert.deepEqual(
      [failed['count'], only!['attempts'], only!['error_code'], only!['error'], only!['ended_at']],
      [1, 3, 'LLM_FAILED', 'the answer is no tag', '2026-01-09T00:00:00.000Z'],
    );
    assert.equal((await json('list', '--limit', '2'))['count'], 2);
    const { out } = await command('list');
    assert.match(out, /STATE +AGENT/);
    assert.match(out, /the answer is no tag/);
  });

  it('shows one by the beginning of its id', async () => {
    const { job } = await json('show', `auto_tag:${MEMORY}1`);
    const { input, steps, state } = job as Row;
    assert.deepEqual([input, steps, state], [{ memory_id: `${MEMORY}1` }, ['tags'], 'running']);
    assert.deepEqual(await refusal('show', 'auto_tag:3f'), [
      ...[1, 'AMBIGUOUS_ID_PREFIX', 'several jobs begin with auto_tag:3f: give more of the id'],
    ]);
    assert.deepEqual(await refusal('show', 'other'), [
      ...[1, 'NOT_FOUND', 'there is no job other: "mnemesh jobs list" shows them'],
    ]);
  });

  it('changes one, and says in which states that is possible', async () => {
    assert.deepEqual(await json('pause', `auto_tag:${MEMORY}0`), { changed: 1 });
    assert.deepEqual(await refusal('pause', `auto_tag:${MEMORY}0`), [
      1,
      'JOB_STATE_INVALID',
      `the job auto_tag:${MEMORY}0:1 is paused; only one that is queued or running can be paused`,
    ]);
    assert.deepEqual(await refusal('cancel', `auto_tag:${MEMORY}3`), [
      1,
      'JOB_STATE_INVALID',
      `the job auto_tag:${MEMORY}3:1 is done; only one that is queued, running or paused can be cancelled`,
    ]);
    assert.deepEqual(await json('resume', `auto_tag:${MEMORY}2`), { changed: 1 });
    const { job } = await json('show', `auto_tag:${MEMORY}2`);
    const { state, attempts, ended_at } = job as Row;
    assert.deepEqual([state, attempts, ended_at], ['queued', 0, undefined]);
  });

  it('changes all of a type, or all', async () => {
    assert.deepEqual(await refusal('pause'), [
      2,
      'VALIDATION_FAILED',
      'give one of: the id of a job, --type, --all',
    ]);
    assert.equal((await refusal('pause', 'x', '--all'))[1], 'VALIDATION_FAILED');
    assert.equal((await refusal('cancel', '--type', 'nothing'))[0], 2);
    assert.equal((await command('pause', '--type', 'auto_tag')).out.trim(), 'paused: 3 jobs');
    assert.equal((await command('resume', '--all')).out.trim(), 'queued: 5 jobs');
    assert.equal((await command('cancel', '--all')).out.trim(), 'cancelled: 5 jobs');
    assert.deepEqual((await json('list'))['totals'], { cancelled: 5, done: 1 });
  });

  it('is for the operator alone', async () => {
    const env = { SVC_AGENT_ID: 'ai:one' };
    for (const args of [['list'], ['show', 'auto_tag'], ['pause', '--all']]) {
      const { code, err } = await run(home, ['jobs', ...args, '--json'], { env });
      assert.equal(code, 1);
      assert.match(err, /"code":"FORBIDDEN"/);
    }
    const admin = await run(home, ['jobs', 'list'], { env: { ...env, SVC_ADMIN_AGENT_IDS: 'ai:one' } });
    assert.equal(admin.code, 0, admin.err);
  });
});
