import { PENDING_LIST_BYTES_MAX } from '../../../protocol/base/limits.js';
import type { AgentId } from '../../../protocol/base/meanings.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import { AGENTS_NAMESPACE, agentTitle } from '../../../protocol/identity/agent.js';
import { parsedObject } from '../../../protocol/kinds/payload.js';
import { isVisible } from '../../../protocol/memory/access.js';
import {
  type ComingRow,
  PENDING_STATES,
  type PendingAction,
  pendingKind,
} from '../../../protocol/policies/pending-kind.js';
import { type Proposal, proposalOf } from '../../../protocol/policies/proposal.js';
import type {
  ApprovalEvent,
  ApprovalEvents,
  AskRegistered,
  CountPendings,
  FindPendings,
  ListPendings,
  RememberedDecisions,
  SpentPendings,
  UndecidedPendings,
} from '../../../protocol/policies/queries.js';
import { type Remembered, rememberedKind } from '../../../protocol/policies/remembered-kind.js';
import type { Answers } from '../../../protocol/release.js';
import { memberSql, type RecordSqlRow, recordImageOf } from '../kinds/record-table.js';
import type { Statements } from '../statements.js';
import { visibleArchived, visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

const STATUS = memberSql('status');
const REQUESTED = memberSql('requested_at');
const PENDING_ID = memberSql('pending_id');

/** As `mayKnow` (protocol/policies/queries.ts), with the parameters of `knowing`. */
const KNOWN = `(@all = 1 OR owner_id = @agent OR CASE json_extract(payload, '$.approver.form')
  WHEN 'agent' THEN json_extract(payload, '$.approver.agent') = @agent ELSE @registered = 1 END)`;

const knowing = (statements: Statements, { all, agentId }: Viewer) => ({
  all: all ? 1 : 0,
  agent: agentId,
  registered: !all && isRegistered(statements, agentId) ? 1 : 0,
});

export function listPendings({ statements }: QueryParts, query: ListPendings): Answers['list-pendings'] {
  const { status, namespace, viewer, limit } = query;
  const found = statements
    .get(
      `SELECT payload FROM records WHERE kind = 'pending'${status === null ? '' : ` AND ${STATUS} = @status`}
         AND (@namespace IS NULL OR namespace = @namespace)
         AND ${KNOWN}
       ORDER BY ${REQUESTED} DESC, id LIMIT @limit`,
    )
    .iterate({
      namespace,
      limit,
      ...knowing(statements, viewer),
      ...(status === null ? {} : { status }),
    }) as IterableIterator<RecordSqlRow>;
  const rows: RecordSqlRow[] = [];
  let bytes = 0;
  let truncated = false;
  for (const row of found) {
    bytes += row.payload.length;
    truncated = rows.length > 0 && bytes > PENDING_LIST_BYTES_MAX;
    if (truncated) break;
    rows.push(row);
  }
  const votes = statements
    .get(
      `SELECT count(*) FROM records WHERE kind = 'vote' AND ${memberSql('pending_id')} = ?
         AND ${memberSql('decision')} = 'approve'`,
    )
    .pluck();
  const pending = rows.flatMap((row) => {
    const image = recordImageOf(pendingKind, row) as PendingAction | null;
    if (image === null) return [];
    const payload = proposalFor(image, statements, query);
    return [{ ...image, votes: votes.get(image.pending_id) as number, payload }];
  });
  return { pending, truncated };
}

/**
 * What an action proposes, for who requested it and for who may see all memories that it is about, as they are and as they
 * would be; null for every other viewer.
 */
function proposalFor(
  { command, requested_by, becomes }: PendingAction,
  statements: Statements,
  { viewer, now }: Pick<ListPendings, 'viewer' | 'now'>,
): Proposal['payload'] | null {
  const proposal = proposalOf(command);
  if (proposal === null) return viewer.all ? {} : null;
  const { about, brings, scope } = proposal;
  const coming = becomes.map(({ owner: _owner, scope: _scope, ...row }) => row);
  const payload = coming.length === 0 ? proposal.payload : { ...proposal.payload, becomes: coming };
  if (viewer.all || (viewer.agentId !== null && viewer.agentId === requested_by)) return payload;
  const isOpen = scope === null || scope === 'collective';
  if (!isOpen || (brings !== null && !isVisible(brings, viewer))) return null;
  const isShown = ({ namespace, owner, scope: own }: ComingRow) =>
    isVisible({ namespace, metadata: { agent_id: owner, ...(own === null ? {} : { scope: own }) } }, viewer);
  if (!becomes.every(isShown)) return null;
  const [live, archived] = [visibleRows('m', viewer, now), visibleArchived('a', viewer)];
  const seen = statements.get(
    `SELECT EXISTS (SELECT 1 FROM memories m WHERE m.id = @id AND ${live.sql})
       OR EXISTS (SELECT 1 FROM archived_memories a WHERE a.id = @id AND ${archived.sql})`,
  );
  const parameters = { ...live.parameters, ...archived.parameters };
  return about.every((id) => seen.pluck().get({ ...parameters, id }) === 1) ? payload : null;
}

export function isRegistered(statements: Statements, agentId: AgentId | null): boolean {
  const sql = `SELECT 1 FROM memories m WHERE m.title = ? AND m.namespace = '${AGENTS_NAMESPACE}'`;
  return agentId !== null && statements.get(sql).get(agentTitle(agentId)) !== undefined;
}

export const askRegistered = (
  { statements }: QueryParts,
  { agentId }: AskRegistered,
): Answers['is-registered'] => ({ registered: isRegistered(statements, agentId) });

export function findPendings(
  { statements }: QueryParts,
  { prefix, viewer }: FindPendings,
): Answers['find-pendings'] {
  const ids = statements
    .get(
      `SELECT ${PENDING_ID} FROM records WHERE kind = 'pending'
         AND ${PENDING_ID} >= @prefix AND ${PENDING_ID} < @prefix || char(0x10ffff) AND ${KNOWN} LIMIT 2`,
    )
    .pluck()
    .all({ prefix, ...knowing(statements, viewer) }) as string[];
  return { ids };
}

export function undecidedPendings(
  { statements }: QueryParts,
  { requestedBefore, limit }: UndecidedPendings,
): Answers['undecided-pendings'] {
  // The id says the pending id too (`homeId`); the payload holds a whole command and is read only when there are votes.
  const ids = statements
    .get(
      `WITH waiting AS MATERIALIZED (
         SELECT rid AS rid_of, substr(id, instr(id, '/') + 1) AS name, ${REQUESTED} AS requested FROM records
         WHERE kind = 'pending' AND ${STATUS} = 'pending')
       SELECT name FROM (SELECT rid_of, name, requested, (SELECT count(*) FROM records
           WHERE kind = 'vote' AND ${memberSql('pending_id')} = name) AS votes FROM waiting)
       WHERE requested <= @requestedBefore OR CASE WHEN votes = 0 THEN 0 ELSE votes >
         (SELECT json_array_length(payload, '$.approvals') FROM records WHERE records.rid = rid_of) END
       ORDER BY requested LIMIT @limit`,
    )
    .pluck()
    .all({ requestedBefore, limit }) as string[];
  return { ids };
}

/** The home of an action as `homeOf` finds it (protocol/decide/home.ts). */
const HOME = `coalesce((SELECT ${memberSql('home')} FROM records
    WHERE kind = 'adoption' AND ${memberSql('peer_id')} = substr(p.id, 1, instr(p.id, '/') - 1)
    ORDER BY ${memberSql('number')} DESC, 1 DESC LIMIT 1), substr(p.id, 1, instr(p.id, '/') - 1))`;

export function spentPendings(
  { statements }: QueryParts,
  { before, limit }: SpentPendings,
): Answers['spent-pendings'] {
  // One status at a time, because a list of them would not be looked up in the index.
  const decided = statements
    .get(
      `SELECT p.id FROM records p WHERE p.kind = 'pending' AND ${STATUS} = @status
         AND ${REQUESTED} <= @before AND ${memberSql('decided_at')} <= @before
         AND ${HOME} = (SELECT peer_id FROM log_state WHERE singleton = 1)
       ORDER BY ${REQUESTED} LIMIT @limit`,
    )
    .pluck();
  const pendings = PENDING_STATES.filter((status) => status !== 'pending')
    .flatMap((status) => decided.all({ status, before, limit }) as string[])
    .slice(0, limit);
  const votes = statements
    .get(
      `SELECT v.id FROM (SELECT id, ${memberSql('pending_id')} AS action, ${memberSql('voted_at')} AS voted_at
           FROM records WHERE kind = 'vote') v
       WHERE v.voted_at <= @before AND NOT EXISTS
         (SELECT 1 FROM records WHERE kind = 'pending' AND ${memberSql('pending_id')} = v.action)
       ORDER BY v.id LIMIT @limit`,
    )
    .pluck()
    .all({ before, limit }) as string[];
  return { pendings, votes };
}

export function countPendings(
  { statements }: QueryParts,
  { viewer }: CountPendings,
): Answers['count-pendings'] {
  const waiting = `SELECT count(*) FROM records WHERE kind = 'pending' AND ${STATUS} = 'pending'`;
  const count =
    viewer === null || viewer.all
      ? statements.get(waiting).pluck().get()
      : statements.get(`${waiting} AND ${KNOWN}`).pluck().get(knowing(statements, viewer));
  return { waiting: count as number };
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
