import * as limits from '../base/limits.js';
import type { AgentId, Instant } from '../base/meanings.js';
import { isText, oneOf, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, textOf } from '../kinds/replicated-value.js';

export const REMEMBER = ['once', 'session', 'forever'] as const;
export type Remember = (typeof REMEMBER)[number];

/** What one agent says about a pending action. Any node takes it; the home of the action counts it. */
export interface Vote {
  readonly pending_id: string;
  /** The namespace of the action. */
  readonly namespace: string;
  readonly agent_id: AgentId;
  /** The agent's id in small letters: it has one vote, whatever the case (reference-federation §2.7). */
  readonly voter: string;
  readonly decision: 'approve' | 'deny';
  readonly remember: Remember;
  readonly voted_at: Instant;
  readonly rest: Rest;
}

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);

export const voteKind = recordKind<Vote>({
  name: 'vote',
  members: {
    pending_id: { accepts: isText, admits: WORD, default: '' },
    namespace: { accepts: isText, admits: textOf(limits.HEADER_TEXT_LENGTH_MAX), default: '' },
    agent_id: { accepts: isText, admits: WORD, default: '' },
    voter: { accepts: isText, admits: WORD, default: '' },
    decision: { accepts: oneOf(['approve', 'deny']), default: 'deny' },
    remember: { accepts: oneOf(REMEMBER), default: 'once' },
    voted_at: { accepts: isText, admits: instant, default: '' },
  },
  idOf: ({ pending_id, voter }) => `${pending_id}|${voter}`,
  namespaceOf: ({ namespace }) => namespace,
  about: (id) => [{ kind: 'pending', id: id.slice(0, Math.max(0, id.lastIndexOf('|'))) }],
  owner: 'agent_id',
  losers: 'dropped',
  exported: false,
  indexes: [{ name: 'vote_of', members: ['pending_id'] }],
});
