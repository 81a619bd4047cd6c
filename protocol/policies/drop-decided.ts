import { APPROVALS_MAX, PENDING_KEPT_SECONDS, REMOVE_BATCH_MAX } from '../base/limits.js';
import type { SubjectId } from '../base/meanings.js';
import { instantAfter } from '../base/time.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { numbered } from '../decide/home.js';
import type { Mutation } from '../decide/mutations.js';
import { recordsWith } from '../decide/reads.js';

import { dropRecord, recordRow } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { NO_REST } from '../kinds/payload.js';
import { otherHome, pendingRow } from './decide-pending.js';
import { pendingKind } from './pending-kind.js';
import { type Vote, voteKind } from './vote-kind.js';

/**
 * Removes actions that were decided long ago, with their votes, and votes that came when their action was gone. An action
 * has expired everywhere by then, so a node that knows it only as one that waits does not execute it either.
 */
export interface DropDecided {
  readonly kind: 'drop-decided';
  /** Records of actions. */
  readonly pendings: readonly SubjectId[];
  /** Records of votes on actions that are gone. */
  readonly votes: readonly SubjectId[];
}

/** What `drop-decided` answers. */
export interface DropDecidedOutcome {
  readonly dropped: number;
}

/** Leaves an action of another home, one that was decided lately, a vote on an action that is here, and what is beyond a batch. */
function* decideDropDecided(
  { pendings, votes }: DropDecided,
  { now }: DecisionContext,
): Deciding<DropDecidedOutcome> {
  const before = instantAfter(now, -PENDING_KEPT_SECONDS);
  const mutations: Mutation[] = [];
  for (const id of pendings) {
    if (mutations.length >= REMOVE_BATCH_MAX) break;
    const row = yield* recordRow(pendingKind, id);
    if (row === null || row.image.status === 'pending') continue;
    const { pending_id: value, requested_at, decided_at } = row.image;
    if (requested_at > before || (decided_at ?? requested_at) > before) continue;
    if ((yield* otherHome(id)) !== null) continue;
    const facts = yield* numbered(id, { rest: NO_REST });
    mutations.push({ ...dropRecord(pendingKind, row, 'decided'), facts });
    const asked = { kind: voteKind.name, member: 'pending_id', value, limit: APPROVALS_MAX };
    for (const vote of (yield* recordsWith(asked)) as readonly Row<Vote>[])
      mutations.push(dropRecord(voteKind, vote, 'action_removed'));
  }
  for (const id of votes) {
    const row = yield* recordRow(voteKind, id);
    if (row === null || row.image.voted_at > before) continue;
    if ((yield* pendingRow(row.image.pending_id)) === null)
      mutations.push(dropRecord(voteKind, row, 'action_removed'));
  }
  return decided({ dropped: mutations.length }, mutations);
}

export const dropDecidedCommand = defineCommand({
  kind: 'drop-decided',
  decide: decideDropDecided,
  gate: 'upkeep',
});
