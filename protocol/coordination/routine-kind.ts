import { REPLICATED_JSON_BYTES_MAX } from '../base/limits.js';
import type { AgentId, Instant, PeerId } from '../base/meanings.js';
import { homeId } from '../kinds/home.js';
import { type Kind, NO_AUTHOR } from '../kinds/kind.js';
import { isObject, isTexts, oneOf, parsedObject, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { listOf, shallowJson, textOf } from '../kinds/replicated-value.js';
import { seesAs } from './checkpoint-kind.js';
import { ROUTINE_ACTIONS_MAX } from './limits.js';
import { bytesOrNull, jsonText, moment, momentOrNull, name, namespace, text, word } from './members.js';
import { routineEnvelopeBytes, type Signed, signedVerdict } from './signed.js';

export const ROUTINE_STATES = ['draft', 'frozen'] as const;
export type RoutineState = (typeof ROUTINE_STATES)[number];
export const RUN_STATES = ['pending', 'running', 'completed', 'failed'] as const;
export type RunState = (typeof RUN_STATES)[number];

/** A template of actions. Once it is frozen, it never changes, and any agent that sees it may run it. */
export interface Routine extends Signed {
  /** The id that callers use. */
  readonly routine_id: string;
  /** The node that made it. */
  readonly maker: PeerId;
  readonly namespace: string;
  readonly name: string;
  readonly template: Readonly<Record<string, unknown>>;
  /** Canonical JSON of a list. */
  readonly parameters: string;
  readonly state: RoutineState;
  readonly created_by: AgentId;
  readonly created_at: Instant;
  readonly frozen_at: Instant | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly rest: Rest;
}

const object = { accepts: isObject, admits: shallowJson(REPLICATED_JSON_BYTES_MAX), default: {} } as const;

export const routineKind: Kind<Routine> = recordKind<Routine>({
  name: 'routine',
  members: {
    ...{ routine_id: word, maker: word, namespace, name, template: object, parameters: jsonText('[]') },
    state: { accepts: oneOf(ROUTINE_STATES), default: 'draft' },
    ...{ created_by: word, created_at: moment, frozen_at: momentOrNull, metadata: object },
    ...{ signature: bytesOrNull, public_key: bytesOrNull },
  },
  idOf: ({ maker, routine_id }) => homeId(maker, routine_id),
  namespaceOf: (routine) => routine.namespace,
  owner: 'created_by',
  losers: 'dropped',
  writer: 'home',
  author: (payload, context) => {
    const routine = routineKind.payload.parse(parsedObject(payload));
    if (routine === null) return NO_AUTHOR;
    return signedVerdict(routine, (crypto) => routineEnvelopeBytes(signableOf(routine), crypto), context);
  },
  exported: false,
  charged: true,
  isVisible: seesAs,
  indexes: [
    { name: 'routine_id', members: ['routine_id'] },
    { name: 'routine_in', members: ['namespace', 'created_at'] },
    { name: 'routine_state', members: ['namespace', 'state', 'created_at'] },
  ],
});

/** What of a routine is signed when it is frozen. */
export const signableOf = (routine: Routine) => ({
  ...routine,
  frozen_at: routine.frozen_at ?? routine.created_at,
});

/** One run of a routine: it made all of its actions, or none. The node that ran it is its home. */
export interface RoutineRun {
  /** The id that callers use. */
  readonly run_id: string;
  readonly maker: PeerId;
  readonly routine_id: string;
  readonly namespace: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly state: RunState;
  readonly created_action_ids: readonly string[];
  /** The agent that ran it. */
  readonly created_by: AgentId;
  readonly started_at: Instant;
  readonly finished_at: Instant | null;
  readonly error: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly rest: Rest;
}

export const routineRunKind: Kind<RoutineRun> = recordKind<RoutineRun>({
  name: 'routine_run',
  members: {
    ...{ run_id: word, maker: word, routine_id: word, namespace, arguments: object },
    state: { accepts: oneOf(RUN_STATES), default: 'pending' },
    created_action_ids: {
      accepts: isTexts,
      admits: listOf(textOf(128), 2 * ROUTINE_ACTIONS_MAX),
      default: [],
    },
    ...{ created_by: word, started_at: moment, finished_at: momentOrNull, error: text, metadata: object },
  },
  idOf: ({ maker, run_id }) => homeId(maker, run_id),
  namespaceOf: (run) => run.namespace,
  owner: 'created_by',
  losers: 'dropped',
  writer: 'home',
  exported: false,
  charged: true,
  isVisible: seesAs,
  indexes: [
    { name: 'routine_run_id', members: ['run_id'] },
    { name: 'routine_run_ended', members: ['maker', 'finished_at'] },
  ],
});
