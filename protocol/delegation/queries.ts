import type { Ask } from '../base/ask.js';
import type { AgentId } from '../base/meanings.js';
import type { TokenRoot } from './token-root-kind.js';

/** Queries about delegated rights, each with its answer. */
export interface DelegationQueries {
  readonly 'token-roots': Ask<ListTokenRoots, { readonly roots: readonly TokenRoot[] }>;
  readonly 'token-standing': Ask<AskTokenStanding, TokenStanding>;
}

/** The keys that verify tokens, of every node. */
export interface ListTokenRoots {
  readonly kind: 'token-roots';
}

/** What this node knows now of a token that it has verified. */
export interface AskTokenStanding {
  readonly kind: 'token-standing';
  readonly rootId: string;
  /** Those of all its blocks. */
  readonly revocationIds: readonly string[];
  /** The agent that minted it; null for the operator of a node. */
  readonly minter: AgentId | null;
}

export interface TokenStanding {
  /** False once its node has taken the key away. */
  readonly hasRoot: boolean;
  readonly revoked: boolean;
  /** The key that is bound to the minter; null without one, and undefined where the agent is not known here. */
  readonly minterKey: string | null | undefined;
}
