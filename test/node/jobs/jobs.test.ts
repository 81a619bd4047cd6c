import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { z } from 'zod';
import type { JobWork, RunOfJob } from '../../../node/jobs/job-work.js';
import type { JobWorks } from '../../../node/jobs/job-works.js';
import {
  JOB_INTERRUPTIONS_MAX,
  JOB_KEPT_SECONDS,
  JOB_PRUNE_MS,
  JOB_RETRY_MS,
  JOBS_AT_ONCE,
} from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import { JobsNode } from '../../support/jobs-node.js';
import { onPostgres } from '../../support/test-store.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MANY = 2500;

type Work = JobWork<{ readonly n: number }>;

const works = (tag: Work, others: Work = () => Promise.resolve(ok({}))): JobWorks =>
  ({ tag, sum: others, plain: others }) as unknown as JobWorks;

const range = (count: number, from = 1) => Array.from({ length: count }, (_, at) => from + at);

/** A work that waits until the test lets it go on. */
function held() {
  const runs: RunOfJob[] = [];
  const waiting: ((result: Result<object>) => void)[] = [];
  const work: Work = (run) => {
    runs.push(run);
    return new Promise((resolve) => {
      waiting.push(resolve);
      run.signal.addEventListener('abort', () => resolve(fail('LLM_UNAVAILABLE', 'cut')), { once: true });
    });
  };
  return { work, runs, go: (result: Result<object> = ok({})) => waiting.shift()!(result) };
}

describe('jobs', () => {
  let node: JobsNode;
  beforeEach(() => {
    node = new JobsNode();
  });
  afterEach(() => node.close());

  it('of one type and agent are done one after the other, and agents take turns', async () => {
    const order: string[] = [];
    node.queue('tag', range(20), 'ai:many');
    node.queue('tag', [101], 'ai:a');
    node.queue('tag', [102], 'ai:b');
    node.queue('tag', range(5, 201), 'ai:c');
    const busy = new Set<string>();
    const running = await node.start(
      works(async (run, { n }) => {
        const { agentId } = run.caller;
        assert.ok(!busy.has(agentId), 'two at a time');
        busy.add(agentId);
        assert.ok(busy.size <= JOBS_AT_ONCE);
        order.push(`${agentId} ${n}`);
        await Promise.resolve();
        busy.delete(agentId);
        return ok({ n });
      }),
    );
    await node.pass(30_000);
    await running.stop();
    assert.deepEqual(await node.states(), { done: 27 });
    const of = (agent: string) =>
      order.filter((one) => one.startsWith(`${agent} `)).map((one) => Number(one.split(' ')[1]));
    assert.deepEqual(
      of('ai:many'),
      [...of('ai:many')].sort((a, b) => a - b),
    );
    assert.ok(order.indexOf('ai:b 102') < 8, order.join(', '));
    const job = await node.job('tag:7');
    assert.deepEqual([job.result, job.run, job.runs, job.attempts], ['{"n":7}', null, 1, 0]);
    assert.equal(running.ended.length, 27);
  });

  it('that fail are tried again, each time later, and then given up', async () => {
    const at: number[] = [];
    node.queue('tag', [1]);
    const running = await node.start(
      works(() => {
        at.push(node.scheduler.nowMs());
        return Promise.resolve(fail('LLM_FAILED', 'no tags'));
      }),
    );
    await node.pass(1000);
    let job = await node.job('tag:1');
    assert.deepEqual(
      [job.state, job.attempts, job.error_code, job.error],
      ['queued', 1, 'LLM_FAILED', 'no tags'],
    );
    await node.pass(4 * MINUTE_MS);
    job = await node.job('tag:1');
    assert.deepEqual([job.state, job.attempts, job.runs], ['failed', 3, 3]);
    assert.ok(job.ended_at !== null);
    assert.ok(at[1]! - at[0]! >= JOB_RETRY_MS && at[2]! - at[1]! >= 2 * JOB_RETRY_MS, at.join(' '));
    const refused = await node.change('pause', { id: 'tag:1' });
    assert.ok(!refused.ok && refused.error.code === 'JOB_STATE_INVALID');
    assert.match(
      refused.error.message,
      /the job tag:1 is failed; only one that is queued or running can be paused/,
    );
    assert.ok((await node.change('resume', { id: 'tag:1' })).ok);
    await node.pass(1000);
    assert.deepEqual([(await node.job('tag:1')).runs, at.length], [4, 4]);
    await running.stop();
  });

  it('that throw, or whose input cannot be read, fail alone', async () => {
    node.queue('tag', [1, 2]);
    node.queue('sum', [3]);
    node.db.prepare(`UPDATE jobs SET input = '{"n":"x"}' WHERE id = 'sum:3'`).run();
    const running = await node.start(
      works((_run, { n }) => (n === 1 ? Promise.reject(new Error('a bug')) : Promise.resolve(ok({})))),
    );
    await node.pass(4 * MINUTE_MS);
    await running.stop();
    const facts = async (id: string) => {
      const { state, error_code } = await node.job(id);
      return [state, error_code];
    };
    assert.deepEqual(await facts('tag:1'), ['failed', 'INTERNAL']);
    assert.deepEqual(await facts('tag:2'), ['done', null]);
    assert.deepEqual(await facts('sum:3'), ['failed', 'VALIDATION_FAILED']);
  });

  it('wait until the next day when the cap of the day is reached, without a run of each', async () => {
    await node.close();
    node = new JobsNode(Date.parse('2026-03-01T23:50:00.000Z'));
    let left = 3;
    node.queue('tag', range(50));
    node.queue('sum', range(50), 'ai:two');
    node.queue('plain', range(3));
    const ran: string[] = [];
    const limited: Work = (run) => {
      ran.push(run.caller.agentId);
      left -= 1;
      return Promise.resolve(left < 0 ? fail('LLM_LIMIT', 'the requests of the day are used up') : ok({}));
    };
    const running = await node.start({
      ...{ tag: limited, sum: limited, plain: () => Promise.resolve(ok({})) },
    } as unknown as JobWorks);
    await node.pass(9 * MINUTE_MS);
    assert.deepEqual(await node.states(), { done: 6, queued: 97 });
    assert.ok(ran.length <= 3 + JOBS_AT_ONCE, `${ran.length} runs`);
    const waiting = (await node.all()).filter(({ waits }) => waits > 0);
    for (const { due_at, attempts, error_code } of waiting)
      assert.deepEqual([due_at, attempts, error_code], ['2026-03-02T00:00:00.000Z', 0, 'LLM_LIMIT']);
    left = 1000;
    await node.pass(3 * MINUTE_MS);
    await running.stop();
    assert.deepEqual(await node.states(), { done: 103 });
  });

  it('back off while what they need is not there, and lose no attempt', async () => {
    let dead = true;
    let runs = 0;
    node.queue('tag', range(200));
    const running = await node.start(
      works(() => {
        runs += 1;
        return Promise.resolve(dead ? fail('LLM_UNAVAILABLE', 'the model does not answer') : ok({}));
      }),
    );
    await node.pass(HOUR_MS);
    assert.deepEqual(await node.states(), { queued: 200 });
    assert.ok(runs >= 8 && runs <= 20, `${runs} runs in an hour`);
    dead = false;
    await node.pass(11 * MINUTE_MS);
    await running.stop();
    assert.deepEqual(await node.states(), { done: 200 });
    assert.ok((await node.all()).every(({ attempts, error_code }) => attempts === 0 && error_code === null));
  });

  it('wait when every one of them fails at a model, and use up no attempts', async () => {
    let refuses = true;
    let runs = 0;
    node.queue('tag', range(30));
    const running = await node.start(
      works((_run, { n }) => {
        runs += 1;
        return Promise.resolve(refuses || n === 7 ? fail('LLM_FAILED', 'refuses the key (401)') : ok({}));
      }),
    );
    await node.pass(20 * MINUTE_MS);
    assert.deepEqual(await node.states(), { queued: 30 });
    assert.ok(runs < 20, `${runs} questions to a model that refuses`);
    refuses = false;
    await node.pass(20 * MINUTE_MS);
    await running.stop();
    assert.deepEqual(await node.states(), { done: 29, failed: 1 });
    assert.equal((await node.job('tag:7')).state, 'failed');
  });

  it('are cut off by a pause, store nothing more, and go on after their last step', async () => {
    const { work, runs, go } = held();
    let made = 0;
    const stepped: Work = async (run, input) => {
      const step = await run.step('tags', z.array(z.string()), () => {
        made += 1;
        return Promise.resolve(ok([`made ${made}`]));
      });
      if (!step.ok) return step;
      const rest = await work(run, input);
      return rest.ok ? ok({ tags: step.value }) : rest;
    };
    node.queue('tag', [1]);
    const running = await node.start(works(stepped));
    await node.pass(1000);
    assert.equal((await node.job('tag:1')).state, 'running');
    assert.ok((await node.change('pause', { id: 'tag:1' })).ok);
    const late = await runs[0]!.services.store.execute({ kind: 'ensure-quota', agentId: 'ai:one' } as never);
    assert.ok(!late.ok && late.error.code === 'JOB_ENDED', 'a run that was paused writes nothing');
    await node.pass(1000);
    assert.equal(runs[0]!.signal.aborted, true);
    assert.deepEqual(running.ended, [['tag', 'gone']]);
    const paused = await node.job('tag:1');
    assert.deepEqual([paused.state, paused.attempts, paused.error_code], ['paused', 0, null]);
    assert.ok((await node.change('resume', { id: 'tag:1' })).ok);
    await node.pass(1000);
    go();
    go();
    await node.pass(1000);
    const done = await node.job('tag:1');
    assert.deepEqual([done.state, done.result, made], ['done', '{"tags":["made 1"]}', 1]);
    await running.stop();
  });

  it('are cancelled while they run, and stay so', async () => {
    const { work, runs } = held();
    node.queue('tag', [1, 2]);
    const running = await node.start(works(work));
    await node.pass(1000);
    const cancelled = await node.change('cancel', { type: 'tag' });
    assert.ok(cancelled.ok);
    assert.deepEqual(cancelled.value, { changed: 2, more: false });
    await node.pass(MINUTE_MS);
    assert.deepEqual([await node.states(), runs.length], [{ cancelled: 2 }, 1]);
    await running.stop();
  });

  it('are cut off by a stop and queued again without a penalty', async () => {
    const { work, runs, go } = held();
    node.queue('tag', [1]);
    const first = await node.start(works(work));
    await node.pass(1000);
    await first.stop();
    const job = await node.job('tag:1');
    assert.deepEqual([job.state, job.attempts, job.interruptions, job.error_code], ['queued', 0, 0, null]);
    const second = await node.start(works(work));
    await node.pass(1000);
    go();
    go();
    await node.pass(1000);
    assert.deepEqual([(await node.job('tag:1')).state, runs.length], ['done', 2]);
    await second.stop();
  });

  it('of a killed process are done by the next one, which finds the steps that were done', async () => {
    let made = 0;
    const never: Work = async (run) => {
      const step = await run.step('answer', z.int(), () => {
        made += 1;
        return Promise.resolve(ok(made));
      });
      assert.ok(step.ok);
      return new Promise(() => undefined);
    };
    node.queue('tag', [1]);
    const killed = await node.start(works(never));
    await node.pass(1000);
    killed.owns = false;
    const next = await node.start(
      works(async (run) => {
        const step = await run.step('answer', z.int(), () => Promise.resolve(ok(99)));
        return step.ok ? ok({ answer: step.value }) : step;
      }),
    );
    await node.pass(1000);
    const job = await node.job('tag:1');
    assert.deepEqual([job.state, job.result, job.interruptions, made], ['done', '{"answer":1}', 1, 1]);
    await next.stop();
  });

  it('of a process that lost the database write nothing, also when it comes back', async () => {
    const { work, runs, go } = held();
    const slow: Work = (run, input) => {
      // It does not hear that it should end.
      void work({ ...run, signal: new AbortController().signal } as RunOfJob, input);
      runs.push(run);
      return new Promise((resolve) => {
        stuck.push(() => resolve(ok({ by: 'the first' })));
      });
    };
    const stuck: (() => void)[] = [];
    node.queue('tag', [1]);
    const first = await node.start(works(slow));
    await node.pass(1000);
    first.owns = false;
    const second = await node.start(works(() => Promise.resolve(ok({ by: 'the second' }))));
    await node.pass(2000);
    const write = await runs
      .at(-1)!
      .services.store.execute({ kind: 'ensure-quota', agentId: 'ai:one' } as never);
    assert.ok(!write.ok && write.error.code === 'JOB_ENDED');
    stuck[0]!();
    await node.pass(1000);
    const job = await node.job('tag:1');
    assert.deepEqual([job.state, job.result], ['done', '{"by":"the second"}']);
    assert.deepEqual([first.ended, second.ended], [[['tag', 'gone']], [['tag', 'done']]]);
    await second.stop();
    go();
  });

  it('that end their process again and again are given up', async () => {
    node.queue('tag', [1]);
    node.queue('plain', [2]);
    for (let kill = 1; kill <= JOB_INTERRUPTIONS_MAX; kill += 1) {
      const killed = await node.start(works(() => new Promise(() => undefined)));
      await node.pass(1000);
      killed.owns = false;
    }
    const last = await node.start(works(() => Promise.resolve(ok({}))));
    await node.pass(1000);
    const job = await node.job('tag:1');
    assert.deepEqual([job.state, job.interruptions], ['failed', JOB_INTERRUPTIONS_MAX]);
    assert.match(job.error!, /the process ended 10 times while the job ran/);
    assert.equal((await node.job('plain:2')).state, 'done');
    await last.stop();
  });

  it('whose end cannot be recorded are done again', async () => {
    let runs = 0;
    node.queue('tag', [1]);
    const execute = node.store.execute.bind(node.store);
    let refusals = 1;
    node.store.execute = ((command: { kind: string }, options: never) => {
      if (command.kind === 'end-job' && refusals-- > 0)
        return Promise.resolve(fail('STORAGE_FULL', 'the disk is full'));
      return execute(command as never, options);
    }) as never;
    const running = await node.start(
      works(() => {
        runs += 1;
        return Promise.resolve(ok({ runs }));
      }),
    );
    await node.pass(5000);
    assert.deepEqual([(await node.job('tag:1')).result, runs], ['{"runs":2}', 2]);
    await running.stop();
  });

  it('planned before the clock was set back are not lost', async () => {
    node.queue('tag', [1]);
    node.db.prepare(`UPDATE jobs SET due_at = '2031-01-01T00:00:00.000Z'`).run();
    const running = await node.start(works(() => Promise.resolve(ok({}))));
    await node.pass(1000);
    assert.equal((await node.job('tag:1')).state, 'done');
    await running.stop();
  });

  it('are dropped seven days after their end', async () => {
    node.queue('tag', range(3));
    node.queue('sum', [9]);
    const running = await node.start(
      works(
        () => Promise.resolve(ok({})),
        () => new Promise(() => undefined),
      ),
    );
    await node.pass(10_000);
    assert.deepEqual(await node.states(), { done: 3, running: 1 });
    const ago = (seconds: number) => new Date(node.scheduler.nowMs() - seconds * 1000).toISOString();
    const end = node.db.prepare("UPDATE jobs SET ended_at = ? WHERE state = 'done'");
    end.run(ago(JOB_KEPT_SECONDS - 3600));
    await node.pass(2 * JOB_PRUNE_MS);
    assert.deepEqual(await node.states(), { done: 3, running: 1 });
    end.run(ago(JOB_KEPT_SECONDS));
    await node.pass(2 * JOB_PRUNE_MS);
    assert.deepEqual(await node.states(), { running: 1 });
    running.owns = false;
  });

  it('are changed in parts, so that the writer is never held long', async () => {
    node.queue('tag', range(MANY));
    node.queue('plain', range(10));
    const changed: number[] = [];
    for (let more = true; more; ) {
      const part = await node.change('pause', { type: 'tag' });
      assert.ok(part.ok);
      changed.push(part.value.changed);
      more = part.value.more;
    }
    assert.deepEqual(changed, [1000, 1000, 500]);
    assert.deepEqual(await node.states(), { paused: MANY, queued: 10 });
    const none = await node.change('resume', { type: 'plain' });
    assert.deepEqual(none.ok && none.value, { changed: 0, more: false });
    const missing = await node.change('cancel', { id: 'tag:0' });
    assert.ok(!missing.ok && missing.error.code === 'NOT_FOUND');
  });

  it('of many agents are found by looks into the index, however many wait', async () => {
    for (let agent = 0; agent < 100; agent += 1)
      node.queue('tag', range(100, agent * 100 + 1), `ai:agent-${agent}`);
    const seen = new Set<string>();
    const running = await node.start(
      works((run) => {
        seen.add(run.caller.agentId);
        return Promise.resolve(ok({}));
      }),
    );
    // Fifty turns in a second.
    await node.pass(3000);
    await running.stop();
    assert.equal(seen.size, 100, 'every agent has had its turn before any has had all');
    // The other engine has plans of another form.
    if (onPostgres) return;
    const plan = node.db
      .prepare(
        "EXPLAIN QUERY PLAN SELECT min(caller) FROM jobs WHERE state = 'queued' AND type = 'tag' AND caller > 'a'",
      )
      .all() as { detail: string }[];
    assert.match(plan[0]!.detail, /USING COVERING INDEX jobs_by_state_type_caller_due_at/);
  });
});
