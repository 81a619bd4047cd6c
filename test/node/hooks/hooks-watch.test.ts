import assert from 'node:assert/strict';
import { appendFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { HookHost } from '../../../actors/hooks/hook-host.js';
import { HOOK_FILE_LOOK_MS, HOOK_FILE_STILL_MS } from '../../../actors/hooks/limits.js';
import { HooksWatch } from '../../../node/hooks/hooks-watch.js';
import { stderrLog } from '../../../node/log.js';
import { systemClock, systemScheduler } from '../../../node/seams.js';
import { HookHome } from '../../support/hooks.js';
import { event, until } from '../../support/wait.js';

/** A watch whose clock goes on with each look, and what is in force. */
function openWatch(home: HookHome) {
  const path = join(home.home, 'hooks.toml');
  const log = stderrLog('silent');
  let nowMs = 0;
  const watch = new HooksWatch({ path, log, clock: { ...systemClock, monotonicMs: () => nowMs } });
  const host = new HookHost({
    ...{ clock: systemClock, scheduler: systemScheduler, log, questions: null, askTimeoutMs: 0 },
    look: () => undefined,
    executorOf: () => ({
      run: () => Promise.resolve({ kind: 'said', text: '' }),
      close: () => Promise.resolve(),
    }),
  });
  const lookNow = () => {
    nowMs += HOOK_FILE_LOOK_MS;
    watch.look();
  };
  const look = async () => {
    lookNow();
    await pause(50);
  };
  const commands = () => host.report().map(({ command }) => command);
  return { path, watch, host, look, lookNow, commands };
}

const guard = (command: string) => ({ event: 'pre_store', command, fail_mode: 'closed' }) as const;

describe('a file of hooks that is written', { timeout: 60_000 }, () => {
  it('counts when it was left alone for a while', async () => {
    const home = new HookHome();
    home.register(guard('a'));
    const { watch, host, look, commands } = openWatch(home);
    watch.begin(host);
    home.write('');
    await look();
    assert.deepEqual(commands(), ['a']);
    home.register(guard('a'), guard('b'));
    await look();
    assert.deepEqual(commands(), ['a']);
    await until('the whole file counts', async () => {
      await look();
      return commands().length === 2;
    });
    assert.equal(host.problem, null);
  });

  it('counts for the next call on a node that has no hook, however long it was idle', () => {
    const home = new HookHome();
    const { watch, host, lookNow, commands } = openWatch(home);
    watch.begin(host);
    home.register(guard('a'));
    lookNow();
    assert.deepEqual(commands(), ['a']);
  });

  it('counts for the next call when it was changed while the node was idle, and when another one took its place', async () => {
    const home = new HookHome();
    home.register(guard('a'));
    const { path, watch, host, lookNow, commands } = openWatch(home);
    watch.begin(host);
    home.register(guard('a'), guard('b'));
    await pause(HOOK_FILE_STILL_MS + 100);
    lookNow();
    assert.deepEqual(commands(), ['a', 'b']);
    const other = new HookHome();
    other.register(guard('c'));
    renameSync(join(other.home, 'hooks.toml'), path);
    await pause(HOOK_FILE_STILL_MS + 100);
    lookNow();
    assert.deepEqual(commands(), ['c']);
  });

  it('and then has no hook, or has gone, keeps those before it until it is asked for', async () => {
    const home = new HookHome();
    home.register(guard('a'));
    const { path, watch, host, look, commands } = openWatch(home);
    watch.begin(host);
    const untilProblem = (isThere: boolean) =>
      until('the watch has seen it', async () => {
        await look();
        return (host.problem !== null) === isThere;
      });
    for (const empty of [() => home.write(''), () => home.register({ ...guard('a'), enabled: false })]) {
      empty();
      await untilProblem(true);
      assert.match(host.problem!, /hooks\.toml has no hook any more; send SIGHUP/);
      assert.deepEqual(commands(), ['a']);
      home.register(guard('a'));
      await untilProblem(false);
    }
    rmSync(path);
    await untilProblem(true);
    assert.deepEqual(commands(), ['a']);
    watch.reload();
    assert.deepEqual([commands(), host.problem], [[], null]);
  });

  it('is not taken as it was in the middle', async () => {
    const home = new HookHome();
    home.register(guard('a'));
    let { path, watch, host, look, commands } = openWatch(home);
    appendFileSync(path, '# a line\n'.repeat(10_000));
    const writer = new Worker(
      `const { utimesSync } = require('node:fs');
       const { parentPort, workerData } = require('node:worker_threads');
       parentPort.postMessage('writes');
       for (let n = 1; ; n += 1) utimesSync(workerData, n, n);`,
      { eval: true, workerData: path },
    );
    await event('the file is written', writer, 'message');
    await until('a read meets a write', () => {
      ({ path, watch, host, look, commands } = openWatch(home));
      watch.begin(host);
      return host.problem !== null;
    });
    await writer.terminate();
    assert.match(host.problem!, /changed while it was read/);
    const denied = await host.fire({ event: 'pre_store', namespace: null, payload: {} });
    assert.equal(denied.kind, 'deny');
    await until('the written file counts', async () => {
      await look();
      return host.problem === null;
    });
    assert.deepEqual(commands(), ['a']);
  });
});
