import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideRestart, NO_FAILURES, type RestartPolicy } from '../../../actors/core/restart-policy.js';

const escalating: RestartPolicy = {
  restartsMax: 3,
  windowMs: 10_000,
  backoff: { initialMs: 100, maxMs: 1000, jitter: 0.5, stableMs: 5000 },
  whenSpent: { kind: 'escalate' },
};
const degrading: RestartPolicy = {
  ...escalating,
  whenSpent: { kind: 'degrade', backoff: { initialMs: 30_000, maxMs: 100_000, jitter: 0, stableMs: 60_000 } },
};

interface Row {
  readonly claim: string;
  readonly policy: RestartPolicy;
  /** Each failure as [instant, up time, draw]; the draw defaults to 0. */
  readonly failures: readonly (readonly [atMs: number, uptimeMs: number, unit?: number])[];
  /** Kind and delay of each decision. */
  readonly decisions: readonly string[];
}

const table: readonly Row[] = [
  {
    claim: 'backs off longer each time, then escalates at the failure after the last restart allowed',
    policy: escalating,
    failures: [
      [0, 0],
      [200, 0],
      [500, 0],
      [1000, 0],
    ],
    decisions: ['back-off 100', 'back-off 200', 'back-off 400', 'escalate'],
  },
  {
    claim: 'takes jitter off the delay',
    policy: escalating,
    failures: [
      [0, 0, 0.5],
      [200, 0, 0.999],
    ],
    decisions: ['back-off 75', 'back-off 100'],
  },
  {
    claim: 'forgets failures that are older than the window',
    policy: escalating,
    failures: [
      [0, 0],
      [1, 0],
      [2, 0],
      [10_002, 0],
      [10_003, 0],
    ],
    decisions: ['back-off 100', 'back-off 200', 'back-off 400', 'back-off 800', 'back-off 1000'],
  },
  {
    claim: 'begins the back-off again after a stable run, but still counts the failures of the window',
    policy: escalating,
    failures: [
      [0, 0],
      [100, 0],
      [5100, 5000],
      [5200, 0],
    ],
    decisions: ['back-off 100', 'back-off 200', 'back-off 100', 'escalate'],
  },
  {
    claim: 'escalates at the first failure when no restart is allowed',
    policy: { ...escalating, restartsMax: 0 },
    failures: [[0, 1_000_000]],
    decisions: ['escalate'],
  },
  {
    claim: 'does not wait for the restarts that its policy makes immediate',
    policy: { ...escalating, immediateRestarts: 1 },
    failures: [
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 0],
    ],
    decisions: ['restart-now', 'back-off 100', 'back-off 200', 'escalate'],
  },
  {
    claim: 'counts immediate restarts within the window only',
    policy: { ...escalating, immediateRestarts: 1 },
    failures: [
      [0, 0],
      [10_000, 0],
      [20_000, 0],
    ],
    decisions: ['restart-now', 'restart-now', 'restart-now'],
  },
  {
    claim: 'degrades with the longer back-off and stays degraded while the child does not stay up',
    policy: degrading,
    failures: [
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 0],
      [30_003, 0],
      [90_003, 59_999],
      [200_000, 0],
    ],
    decisions: [
      'back-off 100',
      'back-off 200',
      'back-off 400',
      'degrade 30000',
      'degrade 60000',
      'degrade 100000',
      'degrade 100000',
    ],
  },
  {
    claim: 'gives a degraded child its whole budget back after a stable run',
    policy: degrading,
    failures: [
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 0],
      [90_003, 60_000],
      [90_004, 0],
      [90_005, 0],
      [90_006, 0],
    ],
    decisions: [
      'back-off 100',
      'back-off 200',
      'back-off 400',
      'degrade 30000',
      'back-off 100',
      'back-off 200',
      'back-off 400',
      'degrade 30000',
    ],
  },
];

describe('restart policy', () => {
  for (const row of table) {
    it(row.claim, () => {
      let history = NO_FAILURES;
      const decisions = row.failures.map(([atMs, uptimeMs, unit = 0]) => {
        const step = decideRestart(row.policy, history, { atMs, uptimeMs, unit });
        history = step.history;
        return 'delayMs' in step.decision
          ? `${step.decision.kind} ${step.decision.delayMs}`
          : step.decision.kind;
      });
      assert.deepEqual(decisions, row.decisions);
    });
  }

  it('remembers no more failures than it needs', () => {
    let history = NO_FAILURES;
    for (let atMs = 0; atMs < 1000; atMs += 1)
      history = decideRestart(degrading, history, { atMs, uptimeMs: 0, unit: 0 }).history;
    assert.equal(history.failuresAtMs.length, 4);
  });
});
