import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ATTEMPTS_MAX,
  type Cause,
  type ConnectionEvent,
  type ConnectionState,
  FAILURES_UNTIL_CUT,
  FRESH_CONNECTION,
  isTrouble,
  nextState,
  waitAfter,
} from '../../../actors/mesh/connection-state.js';
import { nextJob } from '../../../actors/mesh/peer-connection.js';

const failed = (cause: Cause, delivery = true): ConnectionEvent => ({ kind: 'failed', cause, delivery });
const after = (...events: ConnectionEvent[]): ConnectionState => events.reduce(nextState, FRESH_CONNECTION);
const times = (count: number, event: ConnectionEvent): ConnectionEvent[] =>
  Array.from({ length: count }, () => event);
const answered: ConnectionEvent = { kind: 'answered', progress: false };
const progress: ConnectionEvent = { kind: 'answered', progress: true };

describe('the state of a connection', () => {
  it('is a function of what happened', () => {
    assert.equal(after(answered).state, 'healthy');
    assert.equal(after(failed('unreachable')).state, 'suspect');
    assert.equal(after(...times(FAILURES_UNTIL_CUT, failed('timeout'))).state, 'cut');
    assert.equal(after(failed('untrusted')).state, 'cut');
    assert.equal(after(...times(50, failed('throttled'))).state, 'suspect');
    assert.equal(after(...times(50, failed('refused:bad_chain'))).state, 'suspect');
    assert.equal(after(...times(9, failed('unreachable')), answered).state, 'healthy');
    assert.equal(after(...times(9, failed('unreachable')), { kind: 'contacted' }).state, 'suspect');
  });

  it('counts as attempts what says something of the delivery', () => {
    for (const cause of ['unreachable', 'untrusted', 'throttled', 'overloaded'] as const)
      assert.equal(after(failed(cause)).attempts, 0, cause);
    for (const cause of ['timeout', 'rubbish', 'refused:gap', 'refused:internal'] as const) {
      assert.equal(after(failed(cause)).attempts, 1, cause);
      assert.equal(after(failed(cause, false)).attempts, 0, cause);
    }
    assert.equal(after(failed('timeout'), answered).attempts, 1);
    assert.equal(after(failed('timeout'), progress).attempts, 0);
  });

  it('is quarantined at the last attempt, until there is progress or another release', () => {
    const nearly = after(...times(ATTEMPTS_MAX - 1, failed('refused:other')));
    assert.equal(nearly.quarantined, false);
    const quarantined = nextState(nearly, failed('refused:other'));
    assert.equal(quarantined.quarantined, true);
    assert.equal(nextState(quarantined, answered).quarantined, true);
    assert.equal(nextState(quarantined, failed('unreachable')).quarantined, true);
    assert.equal(nextState(quarantined, progress).quarantined, false);
    const offered = nextState(quarantined, { kind: 'offer-again' });
    assert.deepEqual([offered.quarantined, offered.attempts], [false, 0]);
  });

  it('says what comes next', () => {
    assert.equal(nextJob(FRESH_CONNECTION, 5), 'probe');
    assert.equal(nextJob(after(answered), 5), 'push');
    assert.equal(nextJob(after(answered), 0), null);
    assert.equal(nextJob(after(answered, failed('unreachable')), 5), 'probe');
    assert.equal(nextJob(after(answered, failed('timeout')), 5), 'probe');
    assert.equal(nextJob(after(answered, failed('throttled')), 5), 'push');
    assert.equal(nextJob(after(answered, failed('refused:fork')), 5), 'push');
    assert.equal(nextJob(after(answered, failed('refused:fork')), 0), 'probe');
    assert.equal(nextJob(after(answered, ...times(ATTEMPTS_MAX, failed('refused:fork'))), 5), 'probe');
  });

  it('waits longer each time, within bounds, also when it answers in between', () => {
    assert.equal(waitAfter(after(answered), 0), 0);
    assert.equal(waitAfter(after(failed('unreachable')), 0), 250);
    assert.equal(waitAfter(after(...times(100, failed('unreachable'))), 0), 3000);
    assert.equal(waitAfter(after(...times(100, failed('unreachable'))), 0.999) >= 1500, true);
    assert.equal(waitAfter(after(...times(100, failed('throttled'))), 0), 5000);
    const refusing = after(...times(20, failed('refused:other')), answered, failed('refused:other'));
    assert.equal(refusing.failures, 1);
    assert.equal(waitAfter(refusing, 0), 30_000);
  });

  it('is trouble when it lasts or the peer refuses, not while a node starts, ends or is busy', () => {
    assert.equal(isTrouble(FRESH_CONNECTION), false);
    for (const cause of ['unreachable', 'timeout'] as const) {
      assert.equal(isTrouble(after(failed(cause))), false, cause);
      assert.equal(isTrouble(after(...times(FAILURES_UNTIL_CUT, failed(cause)))), true, cause);
    }
    assert.equal(isTrouble(after(...times(FAILURES_UNTIL_CUT, failed('overloaded', false)))), false);
    assert.equal(isTrouble(after(...times(ATTEMPTS_MAX, failed('refused:other')))), true);
    for (const cause of ['untrusted', 'rubbish', 'refused:fork'] as const) {
      assert.equal(isTrouble(after(failed(cause))), true, cause);
    }
    assert.equal(isTrouble(after(failed('refused:fork'), progress)), false);
  });
});
