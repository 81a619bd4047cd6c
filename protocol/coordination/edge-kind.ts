import * as limits from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { isText, oneOf, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, textOf } from '../kinds/replicated-value.js';

export const EDGE_TYPES = ['requires', 'unlocks', 'blocks', 'gated_by', 'sibling'] as const;
export type EdgeType = (typeof EDGE_TYPES)[number];

/** A relation of two actions, or of an action and the checkpoint that gates it. */
export interface ActionEdge {
  readonly from_action: string;
  readonly to_action: string;
  readonly edge_type: EdgeType;
  /** The namespace of the action that waits; that of `from_action` for a sibling. An edge of another one does not count. */
  readonly namespace: string;
  readonly created_by: AgentId;
  readonly created_at: Instant;
  readonly rest: Rest;
}

/** Which of two ends waits for the other, and for what: that it is done, or that it has ended in whatever way. */
export interface Waiting {
  readonly waits: string;
  readonly for: string;
  readonly until: 'done' | 'finished';
}

/** What an edge makes wait; null for one without an order. */
export function waitingOf({
  from_action: from,
  to_action: to,
  edge_type: type,
}: Pick<ActionEdge, 'from_action' | 'to_action' | 'edge_type'>): Waiting | null {
  if (type === 'sibling') return null;
  if (type === 'requires' || type === 'gated_by') return { waits: from, for: to, until: 'done' };
  return { waits: to, for: from, until: type === 'blocks' ? 'finished' : 'done' };
}

/** The id of an action joins these with `|`. */
const end = {
  accepts: (value: unknown) => isText(value) && !value.includes('|'),
  admits: textOf(limits.REPLICATED_WORD_BYTES_MAX),
  default: '',
};

export const edgeId = (edge: Pick<ActionEdge, 'from_action' | 'to_action' | 'edge_type'>): string =>
  `${edge.from_action}|${edge.to_action}|${edge.edge_type}`;

export const edgeKind = recordKind<ActionEdge>({
  name: 'action_edge',
  members: {
    from_action: end,
    to_action: end,
    edge_type: { accepts: oneOf(EDGE_TYPES), default: 'sibling' },
    namespace: { accepts: isText, admits: textOf(limits.HEADER_TEXT_LENGTH_MAX), default: '' },
    created_by: { accepts: isText, admits: textOf(limits.REPLICATED_WORD_BYTES_MAX), default: '' },
    created_at: { accepts: isText, admits: instant, default: '' },
  },
  idOf: edgeId,
  namespaceOf: ({ namespace }) => namespace,
  owner: 'created_by',
  losers: 'dropped',
  charged: true,
  exported: false,
  isVisible: () => true,
  indexes: [
    { name: 'edge_from', members: ['from_action', 'edge_type', 'to_action'] },
    { name: 'edge_to', members: ['to_action', 'edge_type', 'from_action'] },
  ],
});
