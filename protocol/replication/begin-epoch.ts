import type { Origin } from '../base/meanings.js';
import { fail } from '../base/result.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { after, ownOrigin, type Reading } from '../decide/reads.js';
import type { EpochNotice } from '../log/epoch-notice.js';
import { beginEpoch } from './mutations.js';
import { operationHash, subjectsBeyond } from './reads.js';
import { repairRenamed } from './repair.js';

/**
 * Starts a new epoch, because a peer knows operations of this node that the database has lost. Operations that reused
 * the peer's numbers get numbers of the new epoch.
 */
export interface BeginEpoch {
  readonly kind: 'begin-epoch';
  readonly epoch: string;
  readonly reason: string;
  /**
   * The last operation of the old origin that other nodes have as well; later ones are renamed. Null when no operation
   * that other nodes have was lost.
   */
  readonly keep: number | null;
}

/** What `begin-epoch` answers. */
export interface BeginEpochOutcome {
  readonly origin: Origin;
}

/** Starts a new epoch. Afterwards peers send the old origin's operations back like those of any other origin. */
function* decideBeginEpoch(command: BeginEpoch, context: DecisionContext): Deciding<BeginEpochOutcome> {
  const { epoch, reason } = command;
  const self = yield* ownOrigin();
  const keep = command.keep ?? self.seq;
  if (keep > self.seq) return fail('CONFLICT', 'the log ends before the last operation to keep');
  const notice = keep < self.seq ? yield* noticeOf(self.origin, keep) : null;
  const subjects = yield* subjectsBeyond({ origin: self.origin, seq: keep });
  yield* after([beginEpoch({ epoch, reason, keep, notice })]);
  yield* repairRenamed(subjects, context, 'here');
  const { origin } = yield* ownOrigin();
  return decided({ origin }, []);
}

/** The notice about the operations of an own origin after `keep`, before they are renamed. */
export function* noticeOf(from: Origin, keep: number): Reading<EpochNotice | null> {
  const renamed = yield* operationHash({ origin: from, seq: keep + 1 });
  return renamed === null ? null : { from, keep, renamed };
}

export const beginEpochCommand = defineCommand({
  kind: 'begin-epoch',
  decide: decideBeginEpoch,
  gate: 'operator',
});
