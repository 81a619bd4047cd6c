import type { AgentId, Instant } from '../base/meanings.js';
import { localKind } from '../kinds/local-kind.js';

/** What the node that minted a token remembers of it: all but the token. */
export interface MintedToken {
  /** The beginning of its revocation id. */
  readonly token_id: string;
  readonly revocation_id: string;
  readonly agent_id: AgentId;
  /** Words, separated by a space. */
  readonly operations: string;
  /** Patterns, separated by a space; `**` for all namespaces. */
  readonly namespaces: string;
  readonly minted_by: AgentId;
  readonly note: string;
  readonly created_at: Instant;
  readonly expires_at: Instant;
}

/** How much of its revocation id a token is called by. */
export const TOKEN_ID_LENGTH = 32;
export const tokenIdOf = (revocationId: string): string => revocationId.slice(0, TOKEN_ID_LENGTH);

export const mintedTokenKind = localKind<MintedToken>({
  name: 'minted_token',
  key: ['token_id'],
  members: {
    token_id: 'text',
    revocation_id: 'text',
    agent_id: 'text',
    operations: 'text',
    namespaces: 'text',
    minted_by: 'text',
    note: 'text',
    created_at: 'text',
    expires_at: 'text',
  },
  indexes: [['created_at'], ['expires_at']],
  isVisible: ({ agent_id, minted_by }, { all, agentId }) =>
    all || (agentId !== null && (agent_id === agentId || minted_by === agentId)),
});
