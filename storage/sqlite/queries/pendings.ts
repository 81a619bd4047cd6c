import {
  type ApprovalEvent,
  type ApprovalEvents,
  type ListPendings,
  mayKnow,
  type ReadPending,
  type RememberedDecisions,
  type UndecidedPendings,
} from '../../../protocol/governance/queries.js';
import { parsedObject } from '../../../protocol/kinds/payload.js';
import { type PendingAction, pendingKind } from '../../../protocol/kinds/pending-kind.js';
import { type Remembered, rememberedKind } from '../../../protocol/kinds/remembered-kind.js';
import type { Answers } from '../../../protocol/queries.js';
import { memberSql, type RecordSqlRow, recordImageOf } from '../kinds/record-table.js';
import type { QueryParts } from './query-parts.js';

const STATUS = memberSql('status');
const REQUESTED = memberSql('requested_at');

export function listPendings({ statements }: QueryParts, query: ListPendings): Answers['list-pendings'] {
  const { status, namespace, viewer, limit } = query;
  const rows = statements
    .get(
      `SELECT payload FROM records WHERE kind = 'pending'${status === null ? '' : ` AND ${STATUS} = @status`}
         AND (@namespace IS NULL OR namespace = @namespace)
         AND (@all = 1 OR owner_id = @agent OR json_extract(payload, '$.approver.agent') = @agent)
       ORDER BY ${REQUESTED} DESC, id LIMIT @limit`,
    )
    .all({
      namespace,
      limit,
      all: viewer.all ? 1 : 0,
      agent: viewer.agentId,
      ...(status === null ? {} : { status }),
    }) as RecordSqlRow[];
  const votes = statements
    .get(
      `SELECT count(*) FROM records WHERE kind = 'vote' AND ${memberSql('pending_id')} = ?
         AND ${memberSql('decision')} = 'approve'`,
    )
    .pluck();
  const pending = rows.flatMap((row) => {
    const image = recordImageOf(pendingKind, row) as PendingAction | null;
    return image === null ? [] : [{ ...image, votes: votes.get(image.pending_id) as number }];
  });
  return { pending };
}

export function readPending(
  { statements }: QueryParts,
  { id, viewer }: ReadPending,
): Answers['read-pending'] {
  const row = statements
    .get(`SELECT payload FROM records WHERE kind = 'pending' AND ${memberSql('pending_id')} = ?`)
    .get(id) as RecordSqlRow | undefined;
  const pending = row === undefined ? null : (recordImageOf(pendingKind, row) as PendingAction | null);
  return { pending: pending !== null && mayKnow(pending, viewer) ? pending : null };
}

export function undecidedPendings(
  { statements }: QueryParts,
  { limit }: UndecidedPendings,
): Answers['undecided-pendings'] {
  const ids = statements
    .get(
      `SELECT ${memberSql('pending_id')} FROM records WHERE kind = 'pending' AND ${STATUS} = 'pending'
       ORDER BY ${REQUESTED} LIMIT ?`,
    )
    .pluck()
    .all(limit) as string[];
  return { ids };
}

export function countPendings({ statements }: QueryParts): Answers['count-pendings'] {
  const waiting = statements
    .get(`SELECT count(*) FROM records WHERE kind = 'pending' AND ${STATUS} = 'pending'`)
    .pluck()
    .get() as number;
  return { waiting };
}

interface LoggedPending {
  readonly id: number;
  readonly payload: string | null;
}

export function approvalEvents(
  { statements }: QueryParts,
  { after, limit }: ApprovalEvents,
): Answers['approval-events'] {
  const end = statements
    .get('SELECT coalesce(max(commit_sequence), 0) FROM operations')
    .pluck()
    .get() as number;
  if (after === null) return { events: [], through: end, more: false };
  const rows = statements
    .get(
      `SELECT commit_sequence AS id, payload FROM operations
       WHERE commit_sequence > @after AND commit_sequence <= @end AND kind = 'pending.put' AND parked IS NULL
       ORDER BY commit_sequence LIMIT @limit`,
    )
    .all({ after, end, limit }) as LoggedPending[];
  const events = rows.flatMap((row) => eventOf(row));
  const more = rows.length === limit;
  return { events, through: more ? rows.at(-1)!.id : end, more };
}

/** A vote that does not decide yet is no event. */
function eventOf({ id, payload }: LoggedPending): readonly ApprovalEvent[] {
  const pending = payload === null ? null : pendingKind.payload.parse(parsedObject(payload));
  if (pending === null) return [];
  if (pending.status !== 'pending') return [{ id, event: 'approval_decided', pending }];
  return pending.approvals.length === 0 ? [{ id, event: 'approval_requested', pending }] : [];
}

export function rememberedDecisions(
  { statements }: QueryParts,
  { limit }: RememberedDecisions,
): Answers['remembered-decisions'] {
  const rows = statements
    .get(`SELECT payload FROM records WHERE kind = 'remembered' ORDER BY namespace, id LIMIT ?`)
    .all(limit) as RecordSqlRow[];
  return {
    remembered: rows.flatMap((row) => {
      const image = recordImageOf(rememberedKind, row) as Remembered | null;
      return image === null ? [] : [image];
    }),
  };
}
