import type { AskTokenStanding, TokenStanding } from '../../../protocol/delegation/queries.js';
import { tokenRevocationKind } from '../../../protocol/delegation/token-revocation-kind.js';
import { tokenRootKind } from '../../../protocol/delegation/token-root-kind.js';
import { AGENTS_NAMESPACE, agentTitle } from '../../../protocol/identity/agent.js';
import type { Answers } from '../../../protocol/release.js';
import { recordSource } from '../kinds/find-rows.js';
import type { QueryParts } from './query-parts.js';

const ROOTS = recordSource(tokenRootKind);
const REVOCATIONS = recordSource(tokenRevocationKind);

/** More nodes than a mesh has, with the keys that they replaced. */
const ROOTS_MAX = 10_000;

export const tokenRoots = ({ find }: QueryParts): Answers['token-roots'] => ({
  roots: find.all(ROOTS, { limit: ROOTS_MAX, skipDamaged: true }),
});

const MINTER = `SELECT m.metadata ->> '$.pubkey_b64' AS key FROM memories m
  WHERE m.title = ? AND m.namespace = '${AGENTS_NAMESPACE}' AND m.conflict_of IS NULL`;

export function tokenStanding(
  { find, statements }: QueryParts,
  { rootId, revocationIds, minter }: AskTokenStanding,
): TokenStanding {
  const row =
    minter === null
      ? undefined
      : (statements.get(MINTER).get(agentTitle(minter)) as { readonly key: string | null } | undefined);
  return {
    hasRoot: find.any(ROOTS, { id: rootId }),
    revoked: find.any(REVOCATIONS, { id: { in: revocationIds } }),
    minterKey: row === undefined ? undefined : row.key,
  };
}
