import * as limits from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { isWithheld } from '../base/withheld.js';
import { nameOf } from '../kinds/home.js';
import { type AuthorContext, type AuthorVerdict, type Kind, NO_AUTHOR } from '../kinds/kind.js';
import {
  isInteger,
  isObject,
  isText,
  isTextOrNull,
  oneOf,
  parsedObject,
  type Rest,
} from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, json, orNull, shallowJson, textOf } from '../kinds/replicated-value.js';
import { seesAs } from './checkpoint-kind.js';
import { jsonText } from './members.js';
import { signedVerdict, transitionEnvelopeBytes } from './signed.js';

export const ACTION_STATES = ['pending', 'claimed', 'in_progress', 'done', 'failed', 'abandoned'] as const;
export type ActionState = (typeof ACTION_STATES)[number];

/** The moves of an action (reference-mcp-cli §1.4). */
const MOVES: Readonly<Record<ActionState, readonly ActionState[]>> = {
  pending: ['claimed', 'abandoned'],
  claimed: ['in_progress', 'pending', 'abandoned'],
  in_progress: ['done', 'failed', 'abandoned'],
  done: [],
  failed: [],
  abandoned: [],
};

export const isActionState = (word: string): word is ActionState =>
  (ACTION_STATES as readonly string[]).includes(word);
export const mayMove = (from: ActionState, to: ActionState): boolean => MOVES[from].includes(to);
/** True for a state in which an action stays. */
export const isFinished = (state: ActionState): boolean => MOVES[state].length === 0;

/** The last transition of an action, as the node signed it that took the request. */
export interface Transition {
  readonly from: ActionState;
  readonly to: ActionState;
  /** The agent that moved it. */
  readonly by: AgentId;
  /** The agent that claims the action from then on; null for none. */
  readonly claimed_by: AgentId | null;
  /** Standard base64. */
  readonly nonce: string;
  readonly at: Instant;
  /** Standard base64; null where the node has no key. */
  readonly signature: string | null;
  readonly public_key: string | null;
}

/**
 * A piece of work of agents. Only its home, the node that made it, changes it. Its id is `<home>/<action id>`.
 */
export interface Action {
  /** The id that callers use. */
  readonly action_id: string;
  readonly namespace: string;
  readonly action_kind: string;
  readonly title: string;
  /** Any JSON, as its canonical text. */
  readonly payload: string;
  readonly priority: number;
  readonly state: ActionState;
  /** The owner; null for an action of everybody. */
  readonly agent_id: AgentId | null;
  readonly created_by: AgentId;
  readonly claimed_by: AgentId | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly last: Transition | null;
  readonly rest: Rest;
}

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);
const isTransition = (value: unknown): boolean =>
  value === null ||
  (isObject(value) &&
    oneOf(ACTION_STATES)(value['from']) &&
    oneOf(ACTION_STATES)(value['to']) &&
    ['by', 'nonce', 'at'].every((member) => isText(value[member])) &&
    ['claimed_by', 'signature', 'public_key'].every((member) => isTextOrNull(value[member])));
const isAdmittedTransition = (value: unknown): boolean =>
  value === null || (json(value) && isObject(value) && instant(value['at']));

export const actionKind: Kind<Action> = recordKind<Action>({
  name: 'action',
  members: {
    action_id: { accepts: isText, admits: WORD, default: '' },
    namespace: { accepts: isText, admits: textOf(limits.HEADER_TEXT_LENGTH_MAX), default: '' },
    action_kind: { accepts: isText, admits: WORD, default: '' },
    title: { accepts: isText, admits: textOf(limits.REPLICATED_TITLE_BYTES_MAX), default: '' },
    payload: jsonText('{}'),
    priority: { accepts: isInteger, default: 0 },
    state: { accepts: oneOf(ACTION_STATES), default: 'pending' },
    agent_id: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    created_by: { accepts: isText, admits: WORD, default: '' },
    claimed_by: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    metadata: { accepts: isObject, admits: shallowJson(2 * limits.ACTION_JSON_BYTES_MAX), default: {} },
    created_at: { accepts: isText, admits: instant, default: '' },
    updated_at: { accepts: isText, admits: instant, default: '' },
    last: { accepts: isTransition, admits: isAdmittedTransition, default: null },
  },
  // The home is part of the id, and the image does not name it.
  idOf: () => null,
  namespaceOf: ({ namespace }) => namespace,
  owner: 'created_by',
  losers: 'dropped',
  writer: 'home',
  author: verifyTransition,
  charged: true,
  exported: false,
  isVisible: maySeeAction,
  indexes: [
    { name: 'action_id', members: ['action_id', 'state'] },
    { name: 'action_updated', members: ['updated_at'] },
    { name: 'action_state', members: ['state', 'updated_at'] },
    { name: 'action_listed', members: ['namespace', 'updated_at'] },
    { name: 'action_board', members: ['namespace', 'state', 'priority', 'created_at', 'action_id'] },
  ],
});

/** Its owner and its claimer see an action too, whatever its scope. */
export function maySeeAction(action: Action, viewer: Viewer): boolean {
  const { agent_id: owner, claimed_by: claimer } = action;
  return (
    seesAs(action, viewer) ||
    (viewer.agentId !== null &&
      (viewer.agentId === owner || viewer.agentId === claimer) &&
      !isWithheld(viewer, action.namespace))
  );
}

/**
 * Verifies the signature of the last transition of an action, which must lead to the state that the action has. An unsigned
 * one claims no author: the home moved the action by itself, or the node that took the request has no key.
 */
function verifyTransition(payload: string, context: AuthorContext): AuthorVerdict {
  const action = actionKind.payload.parse(parsedObject(payload));
  const { last = null } = action ?? {};
  if (action === null || last === null || last.public_key === null) return NO_AUTHOR;
  const { action_id, namespace, state, claimed_by } = action;
  const isOfState = last.to === state && last.claimed_by === claimed_by && Date.parse(last.at) >= 0;
  const bytes = () => transitionEnvelopeBytes({ ...last, action_id, namespace });
  return isOfState ? signedVerdict(last, bytes, context) : { holds: false, envelope: null };
}

/** The id that callers use, of the id of the record. */
export const actionIdOf = (id: string): string => nameOf(id);
