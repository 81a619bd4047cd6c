import type { Origin } from '../base/meanings.js';
import { fail } from '../base/result.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { after, ownOrigin } from '../decide/reads.js';
import type { Subject } from '../kinds/kind.js';
import { noticeOf } from './begin-epoch.js';
import type { RenamedTail } from './mutations.js';
import { resetClock } from './mutations.js';
import { logAhead, subjectsBeyond } from './reads.js';
import { repairRenamed } from './repair.js';

/**
 * Sets the clock of the log back to the present, after the machine's clock was ahead once. Own operations stamped ahead,
 * which no other node takes, get new stamps under a new epoch.
 */
export interface ResetClock {
  readonly kind: 'reset-clock';
  /** 16 random hex characters. */
  readonly epoch: string;
  readonly reason: string;
  /** True only reports what is ahead. */
  readonly dryRun: boolean;
}

/** What `reset-clock` answers. */
export interface ResetClockOutcome {
  /** How far the clock of the log was ahead, in milliseconds; 0 when there was nothing to do. */
  readonly aheadMs: number;
  /** Operations that got new stamps. */
  readonly restamped: number;
  /** The origin that the log continues under. */
  readonly origin: Origin;
}

/** The rows stay as they are, but for their stamps: the new stamps are later than all others in the log. */
function* decideResetClock(command: ResetClock, context: DecisionContext): Deciding<ResetClockOutcome> {
  const { reason, dryRun } = command;
  const { aheadMs, tails } = yield* logAhead();
  const renamed: RenamedTail[] = [];
  const subjects: Subject[] = [];
  for (const [index, { origin: from, keep }] of tails.entries()) {
    const notice = yield* noticeOf(from, keep);
    if (notice === null) return fail('DATA_DAMAGED', `the log has lost operation ${keep + 1} of ${from}`);
    renamed.push({ from, keep, epoch: epochOf(command.epoch, tails.length - 1 - index), notice });
    subjects.push(...(yield* subjectsBeyond({ origin: from, seq: keep })));
  }
  if (!dryRun && aheadMs > 0) {
    yield* after([resetClock({ reason, tails: renamed })]);
    yield* repairRenamed(subjects, context, 'here');
  }
  const restamped = tails.reduce((sum, { operations }) => sum + operations, 0);
  const { origin } = yield* ownOrigin();
  return decided({ aheadMs, restamped, origin }, []);
}

/** Almost always one origin is ahead; a restore while the clock was ahead leaves two. The log continues in the last. */
const epochOf = (epoch: string, before: number): string =>
  (BigInt(`0x${epoch}`) ^ BigInt(before)).toString(16).padStart(epoch.length, '0');

export const resetClockCommand = defineCommand({
  kind: 'reset-clock',
  decide: decideResetClock,
  gate: 'operator',
});
