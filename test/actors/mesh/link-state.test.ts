import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ATTEMPTS_MAX,
  type Cause,
  FAILURES_UNTIL_CUT,
  FRESH_LINK,
  type LinkEvent,
  type LinkState,
  nextLink,
  waitAfter,
} from '../../../actors/mesh/link-state.js';
import { nextJob } from '../../../actors/mesh/peer-link.js';

const failed = (cause: Cause, delivery = true): LinkEvent => ({ kind: 'failed', cause, delivery });
const after = (...events: LinkEvent[]): LinkState => events.reduce(nextLink, FRESH_LINK);
const times = (count: number, event: LinkEvent): LinkEvent[] => Array.from({ length: count }, () => event);
const answered: LinkEvent = { kind: 'answered', progress: false };
const progress: LinkEvent = { kind: 'answered', progress: true };

describe('the state of a link', () => {
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
    const quarantined = nextLink(nearly, failed('refused:other'));
    assert.equal(quarantined.quarantined, true);
    assert.equal(nextLink(quarantined, answered).quarantined, true);
    assert.equal(nextLink(quarantined, failed('unreachable')).quarantined, true);
    assert.equal(nextLink(quarantined, progress).quarantined, false);
    const offered = nextLink(quarantined, { kind: 'offer-again' });
    assert.deepEqual([offered.quarantined, offered.attempts], [false, 0]);
  });

  it('says what comes next', () => {
    assert.equal(nextJob(FRESH_LINK, 5), 'probe');
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
});
