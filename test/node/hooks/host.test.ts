import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HookHost, type HookHostParts } from '../../../actors/hooks/hook-host.js';
import { HOOK_EVENTS_RUNNING_MAX, HOOK_EVENTS_WAITING_MAX } from '../../../actors/hooks/limits.js';
import { Questions } from '../../../actors/hooks/questions.js';
import type { Executor, HookSpec } from '../../../actors/hooks/registered-hook.js';
import { stderrLog } from '../../../node/log.js';
import { systemClock, systemRandom, systemScheduler } from '../../../node/seams.js';
import { until, within } from '../../support/wait.js';

const spec = (more: Partial<HookSpec> = {}): HookSpec => ({
  ...{ index: 0, event: 'post_store', command: 'hook', priority: 0, timeoutMs: 5000 },
  ...{ mode: 'exec', namespace: '*', failMode: 'open', ...more },
});

/** A host whose programs answer when they are told to, and the lines that they got. */
function openHost(more: Partial<HookHostParts> = {}) {
  const lines: string[] = [];
  const begun: string[] = [];
  const ended: string[] = [];
  const answers: (() => void)[] = [];
  const host = new HookHost({
    clock: systemClock,
    scheduler: systemScheduler,
    log: stderrLog('silent'),
    questions: null,
    askTimeoutMs: 0,
    look: () => undefined,
    executorOf: ({ command }) => {
      begun.push(command);
      return {
        run: (line) => {
          lines.push(line);
          return new Promise((resolve) => {
            answers.push(() => resolve({ kind: 'said', text: '' }));
          });
        },
        close: () => {
          ended.push(command);
          return Promise.resolve();
        },
      };
    },
    ...more,
  });
  const answerAll = () => {
    for (const answer of answers.splice(0)) answer();
  };
  return { host, lines, begun, ended, answerAll };
}

describe('what has happened', () => {
  it('is told in its order, a few at a time, and dropped beyond what may wait', async () => {
    const { host, lines, answerAll } = openHost();
    host.replace([spec()]);
    const count = HOOK_EVENTS_WAITING_MAX + HOOK_EVENTS_RUNNING_MAX + 10;
    const tell = (n: number) =>
      host.later({
        bytes: 1,
        firings: () => Promise.resolve([{ event: 'post_store', namespace: 'a', payload: { n } }]),
      });
    for (let n = 0; n < HOOK_EVENTS_RUNNING_MAX; n += 1) tell(n);
    await until('the first are told', () => lines.length === HOOK_EVENTS_RUNNING_MAX);
    for (let n = HOOK_EVENTS_RUNNING_MAX; n < count; n += 1) tell(n);
    assert.equal(host.dropped, 10);
    assert.equal(lines.length, HOOK_EVENTS_RUNNING_MAX);
    await until('all are told', () => {
      answerAll();
      return lines.length === count - 10;
    });
    answerAll();
    const told = lines.map((line) => (JSON.parse(line) as { payload: { n: number } }).payload.n);
    assert.deepEqual(
      told,
      Array.from({ length: count - 10 }, (_, n) => n),
    );
    await host.close();
  });

  it('is dropped where it would hold too many bytes', async () => {
    const { host } = openHost();
    host.replace([spec()]);
    host.later({ bytes: 1e9, firings: () => Promise.reject(new Error('not asked for')) });
    assert.equal(host.dropped, 1);
    await host.close();
  });
});

describe('other hooks', () => {
  it('take the place of those before, whose children end after the chain under way', async () => {
    const { host, lines, ended, answerAll } = openHost();
    host.replace([
      spec({ event: 'pre_store', command: 'old' }),
      spec({ event: 'pre_store', command: 'kept' }),
    ]);
    const firing = host.fire({ event: 'pre_store', namespace: 'a', payload: {} });
    host.replace([spec({ event: 'pre_store', command: 'kept', index: 7 })]);
    assert.deepEqual(ended, []);
    answerAll();
    await until('the second hook is asked', () => lines.length === 2);
    answerAll();
    assert.equal((await firing).kind, 'allow');
    await until('the old one is ended', () => ended.length === 1);
    assert.deepEqual(ended, ['old']);
    assert.deepEqual(
      host.report().map(({ command, index, events_fired }) => [command, index, events_fired]),
      [['kept', 7, 1]],
    );
    await host.close();
    assert.deepEqual(ended, ['old', 'kept']);
  });

  it('guard no write while their file cannot be used from the start, and then writes are denied', async () => {
    const { host } = openHost();
    host.refuse('line 3', true);
    assert.deepEqual(
      [host.has('pre_store'), host.has('pre_recall'), host.has('post_store')],
      [true, false, false],
    );
    const denied = await host.fire({ event: 'pre_delete', namespace: null, payload: {} });
    assert.equal(denied.kind, 'deny');
    assert.match(denied.kind === 'deny' ? denied.reason : '', /the file of hooks cannot be used/);
    assert.equal(host.problem, 'line 3');
    host.replace([]);
    assert.equal(host.has('pre_store'), false);
    await host.close();
  });
});

describe('hooks whose node stops', { timeout: 60_000 }, () => {
  const pre = (command: string, more: Partial<HookSpec> = {}) =>
    spec({ event: 'pre_store', command, ...more });
  const store = { event: 'pre_store', namespace: 'a', payload: {} } as const;

  it('still guard the calls that run, and no other hooks are started', async () => {
    const { host, lines, begun } = openHost();
    host.replace([pre('must', { failMode: 'closed' }), spec({ event: 'pre_delete', command: 'may' })]);
    await host.close();
    assert.deepEqual(
      [host.has('pre_store'), host.has('pre_delete'), host.has('pre_link')],
      [true, true, false],
    );
    const denied = await host.fire(store);
    assert.deepEqual([denied.kind, denied.kind === 'deny' && denied.code], ['deny', 503]);
    assert.equal((await host.fire({ ...store, event: 'pre_delete' })).kind, 'allow');
    host.replace([pre('other')]);
    assert.deepEqual([begun, lines], [['must', 'may'], []]);
    assert.equal((await host.fire(store)).kind, 'deny');
  });

  it('deny the rest of a chain under way', async () => {
    const { host, lines, answerAll } = openHost();
    host.replace([pre('may', { priority: 1 }), pre('must', { failMode: 'closed' })]);
    const firing = host.fire(store);
    await host.close();
    answerAll();
    assert.deepEqual([(await firing).kind, lines.length], ['deny', 1]);
  });

  it('ask no more questions', async () => {
    const questions = new Questions({
      ...{ clock: systemClock, scheduler: systemScheduler, random: systemRandom },
      announce: () => undefined,
    });
    const { host } = openHost({ questions });
    await host.close();
    const asked = { prompt: 'May it?', options: [], default: 'yes', origin_command: 'hook' };
    const asking = questions.ask({ event: 'pre_store', namespace: 'a' }, asked, 60_000);
    const answered = await within('the default', asking, { withinMs: 1000 });
    assert.deepEqual(answered, { answer: 'yes', by: 'default', permitted: true });
    assert.deepEqual(questions.list(), []);
  });

  it('do not wait without end for a program that does not end', async () => {
    const { host } = openHost({
      scheduler: {
        ...systemScheduler,
        after: (delayMs, run, options) => systemScheduler.after(delayMs / 100, run, options),
      },
      executorOf: () => ({
        run: () => Promise.resolve({ kind: 'said', text: '' }),
        close: () => new Promise(() => undefined),
      }),
    });
    host.replace([pre('stuck')]);
    await within('the end', host.close(), { withinMs: 5000 });
  });
});

describe('a run of a hook', { timeout: 60_000 }, () => {
  const store = { event: 'pre_store', namespace: 'a', payload: {} } as const;
  const must = spec({ event: 'pre_store', failMode: 'closed', timeoutMs: 100 });
  const openWith = (run: Executor['run']) => {
    const { host } = openHost({ executorOf: () => ({ run, close: () => Promise.resolve() }) });
    host.replace([must]);
    return host;
  };

  it('ends with the time of its class, whatever its program does', async () => {
    const host = openWith(() => new Promise(() => undefined));
    const denied = await within('the denial', host.fire(store), { withinMs: 15_000 });
    assert.deepEqual([denied.kind, denied.kind === 'deny' && denied.busy], ['deny', true]);
    assert.equal(host.report()[0]?.timeouts, 0);
    await host.close();
  });

  it('that rejects has failed', async () => {
    const host = openWith(() => Promise.reject(new Error('no rules')));
    const denied = await host.fire(store);
    assert.deepEqual([denied.kind, denied.kind === 'deny' && denied.code], ['deny', 503]);
    assert.match(host.report()[0]?.last_problem ?? '', /could not be run: Error: no rules/);
    await host.close();
  });
});
