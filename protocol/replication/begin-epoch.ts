import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { after, read } from '../decide/reads.js';
import { fail } from '../result.js';
import { repairSubjects } from './repair.js';

/**
 * Goes on under a new epoch, because a peer knows operations of this one that the database has lost. What was written
 * here under numbers that the peer knows for other operations gets numbers of the new epoch.
 */
export interface BeginEpoch {
  readonly kind: 'begin-epoch';
  readonly epoch: string;
  readonly reason: string;
  /**
   * The last operation of the old origin that others have as well: what comes after it is renamed. Null: nothing was
   * lost that others have.
   */
  readonly keep: number | null;
}

/** What `begin-epoch` answers. */
export interface BeginEpochOutcome {
  readonly origin: string;
}

/** Goes on under another epoch, after which the old origin's operations come back from peers like anybody's. */
export function* decideBeginEpoch(
  command: BeginEpoch,
  context: DecisionContext,
): Deciding<BeginEpochOutcome> {
  const { epoch, reason } = command;
  const self = yield* read('log-origin', {});
  const keep = command.keep ?? self.seq;
  if (keep > self.seq) return fail('CONFLICT', 'the log ends before the operation that is to be the last');
  const renamed =
    keep < self.seq ? yield* read('operation-hash', { origin: self.origin, seq: keep + 1 }) : null;
  const notice = renamed === null ? null : { from: self.origin, keep, renamed };
  const subjects = yield* read('subjects-beyond', { origin: self.origin, seq: keep });
  yield* after([{ mutation: 'begin-epoch', epoch, reason, keep, notice }]);
  yield* repairSubjects(subjects, context);
  const { origin } = yield* read('log-origin', {});
  return decided({ origin }, []);
}
