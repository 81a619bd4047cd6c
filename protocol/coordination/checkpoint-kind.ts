import { REPLICATED_JSON_BYTES_MAX } from '../base/limits.js';
import type { AgentId, Instant, PeerId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { isWithheld } from '../base/withheld.js';
import { homeId } from '../kinds/home.js';
import { type Kind, NO_AUTHOR } from '../kinds/kind.js';
import { isObject, oneOf, parsedObject, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { shallowJson } from '../kinds/replicated-value.js';
import { isVisible } from '../memory/access.js';
import { bytesOrNull, moment, momentOrNull, name, namespace, text, word, wordOrNull } from './members.js';
import { resolutionEnvelopeBytes, type Signed, signedVerdict } from './signed.js';

export const CONDITION_TYPES = ['approval', 'external_signal', 'condition_predicate', 'deadline'] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** Kinds of conditions that only the service itself may make. */
export const RESERVED_CONDITION_TYPES: readonly string[] = [
  ...['audit_head_witness', 'governance_verdict', 'governance_enforcement', 'epoch_advance'],
  ...['peer_head_entanglement', 're_anchor'],
];

export const CHECKPOINT_STATES = ['pending', 'resolved', 'rejected', 'expired'] as const;
export type CheckpointState = (typeof CHECKPOINT_STATES)[number];
export const VERDICTS = ['resolved', 'rejected'] as const;
export type Verdict = (typeof VERDICTS)[number];

/**
 * Something that work waits for until an agent resolves it, or its deadline passes. Only its home, the node that made it,
 * decides. The signature is that of the verdict, by the node of the agent that resolved it.
 */
export interface Checkpoint extends Signed {
  /** The id that callers use. */
  readonly checkpoint_id: string;
  /** The node that made it. */
  readonly maker: PeerId;
  readonly namespace: string;
  readonly title: string;
  readonly condition_type: string;
  readonly condition: Readonly<Record<string, unknown>>;
  readonly state: CheckpointState;
  readonly created_by: AgentId;
  readonly created_at: Instant;
  readonly deadline_at: Instant | null;
  readonly resolved_by: AgentId | null;
  readonly resolution: string | null;
  readonly resolution_note: string | null;
  readonly resolved_at: Instant | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly rest: Rest;
}

const object = { accepts: isObject, admits: shallowJson(REPLICATED_JSON_BYTES_MAX), default: {} } as const;

export const checkpointKind: Kind<Checkpoint> = recordKind<Checkpoint>({
  name: 'checkpoint',
  members: {
    checkpoint_id: word,
    maker: word,
    namespace,
    title: name,
    condition_type: { ...word, default: 'approval' },
    condition: object,
    state: { accepts: oneOf(CHECKPOINT_STATES), default: 'pending' },
    created_by: word,
    created_at: moment,
    deadline_at: momentOrNull,
    resolved_by: wordOrNull,
    resolution: text,
    resolution_note: text,
    resolved_at: momentOrNull,
    metadata: object,
    signature: bytesOrNull,
    public_key: bytesOrNull,
  },
  idOf: ({ maker, checkpoint_id }) => homeId(maker, checkpoint_id),
  namespaceOf: (checkpoint) => checkpoint.namespace,
  owner: 'created_by',
  losers: 'dropped',
  writer: 'home',
  author: (payload, context) => {
    const checkpoint = checkpointKind.payload.parse(parsedObject(payload));
    if (checkpoint === null) return NO_AUTHOR;
    return signedVerdict(checkpoint, () => verdictBytes(checkpoint), context);
  },
  exported: false,
  charged: true,
  isVisible: maySeeCheckpoint,
  indexes: [
    { name: 'checkpoint_id', members: ['checkpoint_id'] },
    { name: 'checkpoint_in', members: ['namespace', 'created_at'] },
    { name: 'checkpoint_state', members: ['namespace', 'state', 'created_at'] },
    { name: 'checkpoint_open', members: ['state', 'created_at'] },
    { name: 'checkpoint_due', members: ['maker', 'state', 'deadline_at'] },
  ],
});

/** The bytes under the signature of the verdict that a checkpoint holds. */
export const verdictBytes = (checkpoint: Checkpoint): Uint8Array =>
  resolutionEnvelopeBytes({
    ...checkpoint,
    resolved_by: checkpoint.resolved_by ?? '',
    resolved_at: checkpoint.resolved_at ?? checkpoint.created_at,
  });

/** The agents that alone may resolve a checkpoint; null where any other agent may. */
export function approversOf({ condition }: Pick<Checkpoint, 'condition'>): readonly string[] | null {
  const { approvers } = condition;
  return Array.isArray(approvers) ? approvers.filter((each) => typeof each === 'string') : null;
}

/** Whether a viewer sees a record of a namespace: as a memory with that `metadata.scope` of its maker. */
export const seesAs = (
  { namespace: within, metadata, created_by }: Pick<Checkpoint, 'namespace' | 'metadata' | 'created_by'>,
  viewer: Viewer,
): boolean =>
  isVisible({ namespace: within, metadata: { scope: metadata['scope'], agent_id: created_by } }, viewer);

/** Its approvers see a checkpoint too, whatever its scope. */
export function maySeeCheckpoint(checkpoint: Checkpoint, viewer: Viewer): boolean {
  if (seesAs(checkpoint, viewer)) return true;
  if (isWithheld(viewer, checkpoint.namespace)) return false;
  return viewer.agentId !== null && approversOf(checkpoint)?.includes(viewer.agentId) === true;
}
