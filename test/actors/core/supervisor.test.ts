import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EscalationError } from '../../../actors/core/child.js';
import type { RestartPolicy } from '../../../actors/core/restart-policy.js';
import type { FailureReport } from '../../../actors/core/supervision.js';
import { type Supervisor, startSupervisor, supervisorChild } from '../../../actors/core/supervisor.js';
import { constantRandom, FakeScheduler } from '../fake-scheduler.js';
import { ScriptedChild } from './scripted-child.js';

const escalating: RestartPolicy = {
  restartsMax: 2,
  windowMs: 60_000,
  backoff: { initialMs: 100, maxMs: 10_000, jitter: 0.5, stableMs: 30_000 },
  whenSpent: { kind: 'escalate' },
};
const degrading: RestartPolicy = {
  ...escalating,
  restartsMax: 1,
  whenSpent: { kind: 'degrade', backoff: { initialMs: 20_000, maxMs: 60_000, jitter: 0, stableMs: 30_000 } },
};

const setUp = (ids: string, unit = 0) => {
  const time = new FakeScheduler();
  const journal: string[] = [];
  const failures: FailureReport[] = [];
  const children = Object.fromEntries(ids.split(' ').map((id) => [id, new ScriptedChild(id, journal)]));
  const seams = { clock: time, scheduler: time, random: constantRandom(unit) };
  const start = (policies: Record<string, RestartPolicy> = {}, stopTimeoutMs?: number): Supervisor =>
    startSupervisor({
      ...seams,
      children: Object.values(children).map((each) =>
        each.spec(policies[each.id] ?? escalating, stopTimeoutMs),
      ),
      onFailure: (report) => failures.push(report),
    });
  return { time, journal, failures, seams, start, child: (id: string) => children[id]! };
};

const statesOf = (supervisor: Supervisor): string =>
  supervisor
    .children()
    .map(({ id, state }) => `${id}:${state}`)
    .join(' ');

describe('supervisor', () => {
  it('starts left to right, each when the one before it runs', async () => {
    const { time, journal, start, child } = setUp('a b c');
    child('b').held = true;
    const supervisor = start();
    assert.equal(statesOf(supervisor), 'a:starting b:stopped c:stopped');
    await time.settle();
    assert.equal(statesOf(supervisor), 'a:running b:starting c:stopped');
    child('b').release();
    assert.deepEqual(await supervisor.started, { ok: true, value: undefined });
    assert.equal(statesOf(supervisor), 'a:running b:running c:running');
    assert.deepEqual(journal, ['start a', 'start b', 'start c']);
  });

  it('stops right to left, one at a time', async () => {
    const { journal, start, time } = setUp('a b c');
    const supervisor = start();
    await supervisor.started;
    journal.length = 0;
    await supervisor.stop();
    assert.deepEqual(journal, ['stop c', 'stopped c', 'stop b', 'stopped b', 'stop a', 'stopped a']);
    assert.deepEqual(await supervisor.stopped, { kind: 'stopped' });
    assert.equal(statesOf(supervisor), 'a:stopped b:stopped c:stopped');
    assert.equal(time.pending, 0);
    await supervisor.stop();
  });

  it('restarts only the child that failed, after its back-off with jitter', async () => {
    const { time, failures, start, child } = setUp('a b', 0.5);
    const supervisor = start();
    await supervisor.started;
    child('a').fail('out of ink');
    await time.settle();
    assert.deepEqual(supervisor.children()[0], {
      id: 'a',
      state: 'backing-off',
      restarts: 0,
      lastError: 'out of ink',
    });
    await time.advance(74);
    assert.equal(child('a').starts, 1);
    await time.advance(1);
    assert.deepEqual([child('a').starts, child('b').starts], [2, 1]);
    assert.deepEqual(supervisor.children()[0], {
      id: 'a',
      state: 'running',
      restarts: 1,
      lastError: 'out of ink',
    });
    assert.deepEqual(
      failures.map(({ childId, decision }) => [childId, decision]),
      [['a', { kind: 'back-off', delayMs: 75 }]],
    );
  });

  it('restarts at once where the policy says so', async () => {
    const { time, start, child } = setUp('a');
    const supervisor = start({ a: { ...escalating, immediateRestarts: 1 } });
    await supervisor.started;
    child('a').fail('first');
    await time.settle();
    assert.equal(statesOf(supervisor), 'a:running');
    assert.deepEqual([child('a').starts, time.pending], [2, 0]);
  });

  it('counts an end that nobody asked for as a failure', async () => {
    const { time, start, child } = setUp('a');
    const supervisor = start();
    await supervisor.started;
    child('a').leave();
    await time.settle();
    assert.equal(supervisor.children()[0]?.lastError, 'ended although its supervisor did not stop it');
    await time.advance(100);
    assert.equal(statesOf(supervisor), 'a:running');
  });

  it('retries a child that fails to start, and holds back those to its right meanwhile', async () => {
    const { time, start, child } = setUp('a b');
    child('a').startErrors = [new Error('no disk'), new Error('no disk')];
    const supervisor = start();
    await time.settle();
    assert.equal(statesOf(supervisor), 'a:backing-off b:stopped');
    await time.advance(100);
    assert.equal(statesOf(supervisor), 'a:backing-off b:stopped');
    await time.advance(200);
    assert.equal(statesOf(supervisor), 'a:running b:running');
    assert.equal((await supervisor.started).ok, true);
  });

  it('escalates when the budget is spent: stops the others right to left and names child and cause', async () => {
    const { time, journal, start, child } = setUp('a b c');
    const supervisor = start();
    await supervisor.started;
    child('b').fail('one');
    await time.advance(100);
    child('b').fail('two');
    await time.advance(200);
    journal.length = 0;
    child('b').fail('three');
    const reason = await supervisor.stopped;
    assert.ok(reason.kind === 'failed' && reason.error instanceof EscalationError);
    assert.deepEqual([reason.error.childId, reason.error.message], ['b', 'b: three']);
    assert.deepEqual(journal, ['fail b', 'stop c', 'stopped c', 'stop a', 'stopped a']);
    assert.equal(statesOf(supervisor), 'a:stopped b:stopped c:stopped');
    assert.equal(time.pending, 0);
    await supervisor.stop();
  });

  it('spends no budget on failures that lie outside the window', async () => {
    const { time, start, child } = setUp('a');
    const supervisor = start();
    await supervisor.started;
    for (let round = 0; round < 10; round += 1) {
      child('a').fail(`round ${round}`);
      await time.advance(60_000);
      assert.equal(statesOf(supervisor), 'a:running');
    }
  });

  it('degrades a child, goes on without it, and takes it back when it starts again', async () => {
    const { time, start, child } = setUp('a b');
    child('a').startErrors = [new Error('1'), new Error('2'), new Error('3')];
    const supervisor = start({ a: degrading });
    await time.advance(100);
    assert.equal(statesOf(supervisor), 'a:degraded b:running');
    assert.equal((await supervisor.started).ok, true);
    await time.advance(20_000);
    assert.equal(statesOf(supervisor), 'a:degraded b:running', 'the first retry failed');
    await time.advance(39_999);
    assert.equal(child('a').starts, 3);
    await time.advance(1);
    assert.equal(statesOf(supervisor), 'a:running b:running');
    assert.equal(supervisor.children()[0]?.restarts, 3);
  });

  it('shows a degraded child as degraded while it is being retried', async () => {
    const { time, start, child } = setUp('a');
    child('a').startErrors = [new Error('1'), new Error('2')];
    const supervisor = start({ a: degrading });
    await time.advance(100);
    child('a').held = true;
    await time.advance(20_000);
    assert.equal(child('a').starts, 3);
    assert.equal(statesOf(supervisor), 'a:degraded');
    child('a').release();
    await time.settle();
    assert.equal(statesOf(supervisor), 'a:running');
  });

  it('gathers every error of a stop and stops all children nonetheless', async () => {
    const { journal, start, child } = setUp('a b c');
    child('c').stopError = new Error('stuck');
    child('a').stopError = new Error('torn');
    const supervisor = start();
    await supervisor.started;
    await assert.rejects(supervisor.stop(), (error: AggregateError) => {
      assert.deepEqual(
        error.errors.map((each: Error) => each.message),
        ['c: stuck', 'a: torn'],
      );
      return true;
    });
    assert.ok(journal.includes('stopped b'));
    assert.deepEqual(await supervisor.stopped, { kind: 'stopped' });
  });

  it('goes on to the next child when one does not stop in its time', async () => {
    const { time, journal, start, child } = setUp('a b');
    child('b').stopHangs = true;
    const supervisor = start({}, 5000);
    await supervisor.started;
    const stop = supervisor.stop();
    const checked = assert.rejects(stop, /b: did not stop within 5000 ms/);
    await time.advance(5000);
    await checked;
    assert.deepEqual(journal.slice(-2), ['stop a', 'stopped a']);
    assert.equal(time.pending, 0);
  });

  it('stops while a child backs off, without starting it again', async () => {
    const { time, start, child } = setUp('a b');
    const supervisor = start();
    await supervisor.started;
    child('b').fail('gone');
    await time.settle();
    const stop = supervisor.stop();
    assert.equal(time.pending, 0, 'the retry is forgotten before the other child has stopped');
    await stop;
    await time.advance(10_000);
    assert.equal(child('b').starts, 1);
  });

  it('stops while a child starts: tells the start to give up and reports no error for it', async () => {
    const { time, start, child } = setUp('a b');
    child('b').held = true;
    const supervisor = start();
    await time.settle();
    await supervisor.stop();
    assert.equal((await supervisor.started).ok, false);
    assert.equal(statesOf(supervisor), 'a:stopped b:stopped');
  });

  it('stops a child whose start finishes in spite of the stop', async () => {
    const time = new FakeScheduler();
    const journal: string[] = [];
    let finish = (): void => {};
    const supervisor = startSupervisor({
      clock: time,
      scheduler: time,
      random: constantRandom(0),
      children: [
        {
          id: 'stubborn',
          policy: escalating,
          start: async () => {
            await new Promise<void>((resolve) => {
              finish = resolve;
            });
            return { stopped: new Promise(() => {}), stop: async () => void journal.push('stopped') };
          },
        },
      ],
    });
    await time.settle();
    const stop = supervisor.stop();
    await time.settle();
    assert.deepEqual(journal, []);
    finish();
    await stop;
    assert.deepEqual(journal, ['stopped']);
  });

  it('finishes its stop when a child fails before its turn', async () => {
    const { time, journal, start, child } = setUp('a b');
    child('b').stopHangs = true;
    const supervisor = start({}, 1000);
    await supervisor.started;
    const checked = assert.rejects(supervisor.stop(), /a: fell over; b: did not stop/);
    child('a').fail('fell over');
    await time.advance(1000);
    await checked;
    assert.ok(!journal.includes('stop a'));
    assert.equal(journal.filter((line) => line === 'stop b').length, 1, 'asked to stop once');
    assert.equal(child('a').starts, 1);
  });

  it('tells subscribers of each change until they unsubscribe', async () => {
    const { time, start, child } = setUp('a');
    const supervisor = start();
    const seen: string[] = [];
    const unsubscribe = supervisor.subscribe(([only]) => seen.push(only!.state));
    await supervisor.started;
    child('a').fail('x');
    await time.advance(100);
    unsubscribe();
    await supervisor.stop();
    assert.deepEqual(seen, ['running', 'backing-off', 'starting', 'running']);
  });

  it('runs with no children', async () => {
    const time = new FakeScheduler();
    const supervisor = startSupervisor({
      clock: time,
      scheduler: time,
      random: constantRandom(0),
      children: [],
    });
    assert.equal((await supervisor.started).ok, true);
    await supervisor.stop();
  });

  it('refuses two children with one id', () => {
    const { seams } = setUp('a');
    const twin = () => new ScriptedChild('twin', []).spec(escalating);
    assert.throws(() => startSupervisor({ ...seams, children: [twin(), twin()] }), /share an id/);
  });
});

describe('nested supervisors', () => {
  const tree = (outer: RestartPolicy) => {
    const parts = setUp('writer reader http');
    const { seams, child } = parts;
    const inners: Supervisor[] = [];
    const inner = {
      ...seams,
      children: [child('writer').spec(escalating), child('reader').spec(escalating)],
    };
    const root = startSupervisor({
      ...seams,
      children: [
        supervisorChild('storage', outer, inner, (supervisor) => inners.push(supervisor)),
        child('http').spec(escalating),
      ],
    });
    return { ...parts, root, inners };
  };
  const exhaust = async (time: FakeScheduler, child: ScriptedChild): Promise<void> => {
    child.fail('1');
    await time.advance(100);
    child.fail('2');
    await time.advance(200);
    child.fail('disk full');
    await time.settle();
  };

  it('start and stop in the order of the whole tree', async () => {
    const { root, journal } = tree(escalating);
    await root.started;
    await root.stop();
    assert.deepEqual(
      journal.filter((line) => !line.startsWith('stopped')),
      ['start writer', 'start reader', 'start http', 'stop http', 'stop reader', 'stop writer'],
    );
  });

  it('restart a whole subtree whose budget is spent, and leave its siblings alone', async () => {
    const { root, inners, journal, time, child } = tree(escalating);
    await root.started;
    await exhaust(time, child('writer'));
    assert.ok(journal.includes('stopped reader'));
    assert.equal(root.children()[0]?.lastError, 'writer: disk full');
    await time.advance(100);
    assert.equal(statesOf(root), 'storage:running http:running');
    assert.deepEqual([inners.length, child('reader').starts, child('http').starts], [2, 2, 1]);
    assert.equal(statesOf(inners[1]!), 'writer:running reader:running');
  });

  it('escalate to the root with the path to the child that failed first', async () => {
    const { root, time, child, journal } = tree({ ...escalating, restartsMax: 0 });
    await root.started;
    await exhaust(time, child('writer'));
    const reason = await root.stopped;
    assert.ok(reason.kind === 'failed' && reason.error instanceof EscalationError);
    assert.deepEqual(reason.error.path, ['storage', 'writer']);
    assert.equal(reason.error.message, 'storage > writer: disk full');
    assert.equal(reason.error.rootCause.message, 'disk full');
    assert.equal(journal.at(-1), 'stopped http');
    assert.equal(time.pending, 0);
  });

  it('escalate from a subtree that cannot even start', async () => {
    const parts = setUp('writer');
    parts.child('writer').startErrors = [new Error('no file'), new Error('no file')];
    const inner = {
      ...parts.seams,
      children: [parts.child('writer').spec({ ...escalating, restartsMax: 1 })],
    };
    const root = startSupervisor({
      ...parts.seams,
      children: [supervisorChild('storage', { ...escalating, restartsMax: 0 }, inner)],
    });
    await parts.time.advance(100);
    const reason = await root.stopped;
    assert.ok(reason.kind === 'failed');
    assert.equal(reason.error.message, 'storage > writer: no file');
    const started = await root.started;
    assert.ok(!started.ok && started.error.code === 'UNAVAILABLE');
  });

  it('stop while the subtree is still backing off in its start', async () => {
    const { root, time, child } = (() => {
      const parts = setUp('writer');
      parts.child('writer').startErrors = [new Error('not yet')];
      const inner = { ...parts.seams, children: [parts.child('writer').spec(escalating)] };
      const supervisor = startSupervisor({
        ...parts.seams,
        children: [supervisorChild('storage', escalating, inner)],
      });
      return { ...parts, root: supervisor };
    })();
    await time.settle();
    await root.stop();
    assert.deepEqual([time.pending, child('writer').starts], [0, 1]);
  });

  it('name the whole path in the errors of a stop', async () => {
    const { root, child } = tree(escalating);
    child('writer').stopError = new Error('torn');
    child('reader').stopError = new Error('busy');
    child('http').stopError = new Error('open sockets');
    await root.started;
    await assert.rejects(root.stop(), (error: AggregateError) => {
      assert.deepEqual(
        error.errors.map((each: Error) => each.message),
        ['http: open sockets', 'storage > reader: busy', 'storage > writer: torn'],
      );
      return true;
    });
  });
});
