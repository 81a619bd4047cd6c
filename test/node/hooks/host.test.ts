import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HookHost } from '../../../actors/hooks/hook-host.js';
import { HOOK_EVENTS_RUNNING_MAX, HOOK_EVENTS_WAITING_MAX } from '../../../actors/hooks/limits.js';
import type { HookSpec } from '../../../actors/hooks/registered-hook.js';
import { stderrLog } from '../../../node/log.js';
import { systemClock, systemScheduler } from '../../../node/seams.js';
import { until } from '../../support/wait.js';

const spec = (more: Partial<HookSpec> = {}): HookSpec => ({
  ...{ index: 0, event: 'post_store', command: 'hook', priority: 0, timeoutMs: 5000 },
  ...{ mode: 'exec', namespace: '*', failMode: 'open', ...more },
});

/** A host whose programs answer when they are told to, and the lines that they got. */
function openHost() {
  const lines: string[] = [];
  const ended: string[] = [];
  const answers: (() => void)[] = [];
  const host = new HookHost({
    clock: systemClock,
    scheduler: systemScheduler,
    log: stderrLog('silent'),
    questions: null,
    askTimeoutMs: 0,
    look: () => undefined,
    executorOf: ({ command }) => ({
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
    }),
  });
  const answerAll = () => {
    for (const answer of answers.splice(0)) answer();
  };
  return { host, lines, ended, answerAll };
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
