import * as limits from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { isObject, isText, oneOf, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, shallowJson, textOf } from '../kinds/replicated-value.js';

/** A decision that also holds for later actions of the same agent (interface §4.9, `remember`). */
export interface Remembered {
  readonly namespace: string;
  readonly action_type: string;
  /** The agent that requested the action. */
  readonly agent_id: AgentId;
  /** The gate that the action waited at; empty in records of older releases, which no longer count. */
  readonly gate: string;
  /** Who decided such actions then; the decision ends when that is another one. */
  readonly approver: Readonly<Record<string, unknown>>;
  readonly decision: 'approve' | 'deny';
  readonly lasts: 'session' | 'forever';
  /** The run of the node that it ends with; empty for one that holds until it is removed. */
  readonly session: string;
  readonly decided_by: AgentId;
  readonly decided_at: Instant;
  readonly rest: Rest;
}

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);

export const rememberedKind = recordKind<Remembered>({
  name: 'remembered',
  members: {
    namespace: { accepts: isText, admits: textOf(limits.HEADER_TEXT_LENGTH_MAX), default: '' },
    action_type: { accepts: isText, admits: WORD, default: '' },
    agent_id: { accepts: isText, admits: WORD, default: '' },
    gate: { accepts: isText, admits: WORD, default: '', later: true },
    approver: {
      accepts: isObject,
      admits: shallowJson(limits.GOVERNANCE_BYTES_MAX),
      default: {},
      later: true,
    },
    decision: { accepts: oneOf(['approve', 'deny']), default: 'deny' },
    lasts: { accepts: oneOf(['session', 'forever']), default: 'forever' },
    session: { accepts: isText, admits: WORD, default: '' },
    decided_by: { accepts: isText, admits: WORD, default: '' },
    decided_at: { accepts: isText, admits: instant, default: '' },
  },
  idOf: (image) => rememberedId(image),
  namespaceOf: ({ namespace }) => namespace,
  // Only this part can hold the sign between the parts.
  namespaceOfId: (id) => id.split('|').slice(2).join('|'),
  owner: 'decided_by',
  losers: 'dropped',
  exported: true,
  decides: true,
  indexes: [{ name: 'remembered_lasts', members: ['lasts'] }],
});

/** The members that identify a decision. */
export type RememberedKey = Pick<Remembered, 'action_type' | 'agent_id' | 'gate' | 'namespace'>;

export const rememberedId = ({ action_type, agent_id, gate, namespace }: RememberedKey): string =>
  `${action_type}${gate === '' ? '' : `:${gate}`}|${agent_id}|${namespace}`;
