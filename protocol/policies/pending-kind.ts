import * as limits from '../base/limits.js';
import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { SeenRow } from '../decide/rows.js';
import { nameOf } from '../kinds/home.js';
import { isCount, isObject, isText, isTextOrNull, oneOf, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, orNull, shallowJson, textOf } from '../kinds/replicated-value.js';

export const PENDING_STATES = ['pending', 'approved', 'rejected', 'expired'] as const;
export type PendingState = (typeof PENDING_STATES)[number];

/** A vote that the home has counted. */
export interface Approval {
  readonly agent_id: AgentId;
  readonly approved_at: Instant;
}

/** A memory as an action would write it, as far as an approver decides about it. */
export interface ComingRow {
  readonly id: string;
  readonly namespace: string;
  readonly title: string;
  readonly content: string;
  readonly tier: string;
  readonly owner: AgentId | null;
  readonly scope: string | null;
}

/** A gate at which an action waits. */
export interface AskedPlace {
  readonly gate: string;
  readonly namespace: string;
}

/**
 * An action that waits for its approval (interface §2.6). Only its home, the node that received the request, decides it
 * and executes it. Its id is `<home>/<pending id>`.
 */
export interface PendingAction {
  /** The id that callers use. */
  readonly pending_id: string;
  readonly action_type: string;
  readonly namespace: string;
  /** The memory that the action changes; the new one of a store. */
  readonly memory_id: MemoryId | null;
  /** The command that runs when the action is approved. */
  readonly command: Readonly<Record<string, unknown>>;
  /** Who may decide: the approver of the policy when the action was requested. */
  readonly approver: Readonly<Record<string, unknown>>;
  /** The caller, as which the command runs. */
  readonly requested_by: AgentId | null;
  /** The agent that the call named for its writes; null where that is the caller. It does not decide either. */
  readonly written_as: AgentId | null;
  /** The rows that it was requested about; it is not executed when one has changed. */
  readonly reads: readonly SeenRow[];
  /** What it would write, where its command does not say the text: a copy, a text from the log or the archive. */
  readonly becomes: readonly ComingRow[];
  /** Where it waits. */
  readonly asked: readonly AskedPlace[];
  readonly requested_at: Instant;
  readonly expires_at: Instant;
  readonly status: PendingState;
  readonly approvals: readonly Approval[];
  readonly decided_by: AgentId | null;
  readonly decided_at: Instant | null;
  /** How long the decision is remembered: once, session or forever; null before it. */
  readonly remember: string | null;
  readonly rest: Rest;
}

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);
const HEADER = textOf(limits.HEADER_TEXT_LENGTH_MAX);
const SUBJECT = textOf(limits.PENDING_ROW_ID_BYTES_MAX);
const COMING = shallowJson(limits.PENDING_COMMAND_BYTES_MAX);
const isSeenRow = (value: unknown): boolean =>
  isObject(value) &&
  oneOf(['memory', 'link'])(value['kind']) &&
  SUBJECT(value['id']) &&
  isCount(value['version']) &&
  WORD(value['digest']);
const isComingRow = (value: unknown): boolean =>
  isObject(value) &&
  ['id', 'namespace', 'title', 'content', 'tier'].every((name) => isText(value[name])) &&
  ['owner', 'scope'].every((name) => isTextOrNull(value[name]));
const isAskedPlace = (value: unknown): boolean =>
  isObject(value) && WORD(value['gate']) && HEADER(value['namespace']);
const isApproval = (value: unknown): boolean =>
  isObject(value) && isText(value['agent_id']) && isText(value['approved_at']);

export const pendingKind = recordKind<PendingAction>({
  name: 'pending',
  members: {
    pending_id: { accepts: isText, admits: WORD, default: '' },
    action_type: { accepts: isText, admits: WORD, default: '' },
    namespace: { accepts: isText, admits: textOf(limits.HEADER_TEXT_LENGTH_MAX), default: '' },
    memory_id: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    command: { accepts: isObject, admits: shallowJson(limits.PENDING_COMMAND_BYTES_MAX), default: {} },
    approver: { accepts: isObject, admits: shallowJson(limits.GOVERNANCE_BYTES_MAX), default: {} },
    requested_by: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    written_as: { accepts: isTextOrNull, admits: orNull(WORD), default: null, later: true },
    reads: {
      accepts: (value) => Array.isArray(value) && value.every(isSeenRow),
      admits: (value) => Array.isArray(value) && value.length <= limits.PENDING_ROWS_MAX,
      default: [],
      later: true,
    },
    becomes: {
      accepts: (value) => Array.isArray(value) && value.every(isComingRow),
      admits: (value) => Array.isArray(value) && COMING({ rows: value }),
      default: [],
      later: true,
    },
    asked: {
      accepts: (value) => Array.isArray(value) && value.every(isAskedPlace),
      admits: (value) => Array.isArray(value) && value.length <= limits.PENDING_ROWS_MAX,
      default: [],
      later: true,
    },
    requested_at: { accepts: isText, admits: instant, default: '' },
    expires_at: { accepts: isText, admits: instant, default: '' },
    status: { accepts: oneOf(PENDING_STATES), default: 'pending' },
    approvals: {
      accepts: (value) => Array.isArray(value) && value.every(isApproval),
      admits: (value) => Array.isArray(value) && value.length <= limits.APPROVALS_MAX,
      default: [],
    },
    decided_by: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    decided_at: { accepts: isTextOrNull, admits: orNull(instant), default: null },
    remember: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
  },
  // The home is part of the id, and the image does not name it.
  idOf: () => null,
  namespaceOf: ({ namespace }) => namespace,
  owner: 'requested_by',
  losers: 'dropped',
  writer: 'home',
  exported: false,
  isVisible: (pending, viewer, isRegistered) => mayKnow(pending, viewer, isRegistered(viewer.agentId)),
  indexes: [
    { name: 'pending_id', members: ['pending_id'] },
    { name: 'pending_status', members: ['status', 'requested_at'] },
    { name: 'pending_requested', members: ['requested_at'] },
  ],
});

/** The id that callers use, of the id of the record. */
export const pendingIdOf = (id: string): string => nameOf(id);

/**
 * True when a viewer may know of a pending action: it requested it, may decide it, or sees everything. Any registered agent
 * decides what no agent decides by name.
 */
export function mayKnow(
  { requested_by: requester, approver }: Pick<PendingAction, 'requested_by' | 'approver'>,
  { all, agentId }: Viewer,
  isRegistered = false,
): boolean {
  if (all) return true;
  if (agentId === null) return false;
  return (
    requester === agentId || (approver['form'] === 'agent' ? approver['agent'] === agentId : isRegistered)
  );
}
