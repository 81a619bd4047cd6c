import { PENDING_LIST_BYTES_MAX } from '../../../protocol/base/limits.js';
import { type Adoption, adoptionKind } from '../../../protocol/decide/adoption-kind.js';
import type { Proposal } from '../../../protocol/decide/proposal.js';
import { makerOf } from '../../../protocol/kinds/home.js';
import { parsedObject } from '../../../protocol/kinds/payload.js';
import { isVisible } from '../../../protocol/memory/access.js';
import {
  type ComingRow,
  PENDING_STATES,
  type PendingAction,
  pendingIdOf,
  pendingKind,
} from '../../../protocol/policies/pending-kind.js';
import type {
  ApprovalEvent,
  ApprovalEvents,
  AskRegistered,
  CountPendings,
  ListPendings,
  PendingPlace,
  SpentPendings,
  UndecidedPendings,
} from '../../../protocol/policies/queries.js';
import { voteKind } from '../../../protocol/policies/vote-kind.js';
import { type Answers, COMMANDS } from '../../../protocol/release.js';
import { type FindRows, recordSource } from '../kinds/find-rows.js';
import { isRegistered } from '../registered.js';
import type { Statements } from '../statements.js';
import { visibleArchived, visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

const PENDINGS = recordSource(pendingKind);
const VOTES = recordSource(voteKind);
const ADOPTIONS = recordSource(adoptionKind);

export function listPendings(
  { statements, find }: QueryParts,
  query: ListPendings,
): Answers['list-pendings'] {
  const { status, namespace, viewer, limit, after, now } = query;
  const where = { ...(status === null ? {} : { status }), ...(namespace === null ? {} : { namespace }) };
  const asked = {
    ...{ where, order: { by: 'requested_at', descending: true }, skipDamaged: true },
    // One more says whether the list goes on.
    ...{ limit: limit + 1, ...(after === undefined ? {} : { after }) },
  };
  const images: PendingAction[] = [];
  let bytes = 0;
  let truncated = false;
  let last: PendingPlace | null = null;
  let next: PendingPlace | null = null;
  for (const { row, sql } of find.rows(PENDINGS, asked, { viewer, now })) {
    bytes += String(sql['payload']).length;
    truncated = images.length > 0 && images.length < limit && bytes > PENDING_LIST_BYTES_MAX;
    if (truncated || images.length === limit) {
      next = last;
      break;
    }
    images.push(row);
    last = [row.requested_at, String(sql['id'])];
  }
  const pending = images.map((image) => {
    const { pending_id } = image;
    const votes = find.count(VOTES, { pending_id, decision: 'approve' });
    return { ...image, votes, payload: proposalFor(image, statements, query) };
  });
  return { pending, truncated, next };
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
  const proposal = COMMANDS.proposalOf(command);
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

export const askRegistered = (
  { statements }: QueryParts,
  { agentId }: AskRegistered,
): Answers['is-registered'] => ({ registered: isRegistered(statements, agentId) });

export function undecidedPendings(
  { find }: Pick<QueryParts, 'find'>,
  { requestedBefore, limit }: UndecidedPendings,
): Answers['undecided-pendings'] {
  const ids: string[] = [];
  // The id says the pending id too (`homeId`); the payload holds a whole command and is read only when there are votes.
  const waiting = find.members(PENDINGS, ['id', 'requested_at'], {
    ...{ where: { status: 'pending' }, order: { by: 'requested_at' }, limit: Number.MAX_SAFE_INTEGER },
  });
  for (const { id, requested_at } of waiting) {
    const pending_id = pendingIdOf(String(id));
    const isLate = String(requested_at) <= requestedBefore;
    const votes = isLate ? 0 : find.count(VOTES, { pending_id });
    const counted = votes === 0 ? 0 : (find.one(PENDINGS, [id])?.approvals.length ?? 0);
    if (isLate || votes > counted) ids.push(pending_id);
    if (ids.length >= limit) break;
  }
  return { ids };
}

/** The home of an action as `homeOf` finds it (protocol/decide/home.ts). */
function homeOfPending(find: FindRows, id: string): string {
  const maker = makerOf(id);
  const asked = { where: { peer_id: maker }, limit: Number.MAX_SAFE_INTEGER, skipDamaged: true };
  const later = (a: Adoption, b: Adoption) => b.number - a.number || (a.home < b.home ? 1 : -1);
  return [...find.all(ADOPTIONS, asked)].sort(later)[0]?.home ?? maker;
}

export function spentPendings(
  { find, statements }: QueryParts,
  { before, limit }: SpentPendings,
): Answers['spent-pendings'] {
  const self = statements.get('SELECT peer_id FROM log_state WHERE singleton = 1').pluck().get() as string;
  const pendings: string[] = [];
  // One status at a time, because a list of them would not be looked up in the index.
  for (const status of PENDING_STATES.filter((one) => one !== 'pending')) {
    const decided = find.members(PENDINGS, ['id', 'decided_at'], {
      ...{ where: { status, requested_at: { to: before } }, order: { by: 'requested_at' } },
      limit: Number.MAX_SAFE_INTEGER,
    });
    for (const { id, decided_at } of decided) {
      if (pendings.length >= limit) break;
      const isOld = decided_at !== null && String(decided_at) <= before;
      if (isOld && homeOfPending(find, String(id)) === self) pendings.push(String(id));
    }
  }
  const votes: string[] = [];
  const every = { limit: Number.MAX_SAFE_INTEGER };
  for (const { id, pending_id, voted_at } of find.members(VOTES, ['id', 'pending_id', 'voted_at'], every)) {
    if (votes.length >= limit) break;
    if (String(voted_at) <= before && !find.any(PENDINGS, { pending_id })) votes.push(String(id));
  }
  return { pendings, votes };
}

export function countPendings({ find }: QueryParts, { viewer }: CountPendings): Answers['count-pendings'] {
  const where = { status: 'pending' };
  if (viewer === null || viewer.all) return { waiting: find.count(PENDINGS, where) };
  const asked = { where, limit: Number.MAX_SAFE_INTEGER, skipDamaged: true };
  return { waiting: find.all(PENDINGS, asked, { viewer, now: '' }).length };
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
