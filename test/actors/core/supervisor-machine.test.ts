import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createActor } from 'xstate';
import { notStarted } from '../../../actors/core/supervision.js';
import { supervisorMachine } from '../../../actors/core/supervisor-machine.js';
import { xstateClock } from '../../../actors/core/xstate-clock.js';
import { constantRandom, FakeScheduler } from '../fake-scheduler.js';
import { ScriptedChild } from './scripted-child.js';

it('the supervisor machine keeps no runner of a child that has ended', async () => {
  const time = new FakeScheduler();
  const child = new ScriptedChild('a', []);
  const backoff = { initialMs: 100, maxMs: 100, jitter: 0, stableMs: 1000 };
  const policy = { restartsMax: 5, windowMs: 1000, backoff, whenSpent: { kind: 'escalate' } } as const;
  const actor = createActor(supervisorMachine, {
    input: {
      supervision: notStarted([child.spec(policy)]),
      seams: { clock: time, scheduler: time, random: constantRandom(0) },
      onFailure: () => {},
    },
    clock: xstateClock(time),
  });
  const runners = (): string[] => Object.keys(actor.getSnapshot().children);
  actor.start();
  await time.settle();
  assert.deepEqual(runners(), ['run:a']);
  child.fail('gone');
  await time.settle();
  assert.deepEqual(runners(), []);
  await time.advance(100);
  assert.deepEqual(runners(), ['run:a']);
  actor.send({ type: 'supervisor.stop' });
  await time.settle();
  assert.deepEqual(runners(), []);
  assert.equal(actor.getSnapshot().status, 'done');
});
