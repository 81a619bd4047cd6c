import { type Failure, failed, failure, type Result } from '../../protocol/base/result.js';
import type { TokenRoot } from '../../protocol/delegation/token-root-kind.js';
import { makerOf } from '../../protocol/kinds/home.js';
import { keyMarkOf, loadTokenSigner } from '../identity/token-root.js';
import { type VerifiedToken, verifyToken } from '../identity/tokens.js';
import type { Services } from './call.js';

/** What says whether a token counts on a node. */
export type TokenParts = Pick<Services, 'clock' | 'crypto' | 'settings' | 'peerId' | 'isMember'> & {
  readonly store: Pick<Services['store'], 'query'>;
};

/** Reads a token that a root which this node knows has signed. TOKEN_INVALID for any other text. */
export async function verifiedHere(
  { store, peerId }: Pick<TokenParts, 'store' | 'peerId'>,
  text: string,
): Promise<Result<VerifiedToken>> {
  const roots = await store.query({ kind: 'token-roots' });
  if (!roots.ok) return failed(roots.error);
  // A key that another node has too is first of all that of this node.
  const isOwn = ({ peer_id }: TokenRoot) => peer_id === peerId;
  const own = roots.value.roots.filter(isOwn);
  return verifyToken(text, [...own, ...roots.value.roots.filter((each) => !isOwn(each))]);
}

/**
 * Why a token whose signatures hold does not count here and now; null where it counts. TOKEN_INVALID, TOKEN_EXPIRED, TOKEN_REVOKED
 * or TOKEN_SCOPE.
 */
export async function tokenProblem(parts: TokenParts, token: VerifiedToken): Promise<Failure | null> {
  const { rootId, revocationIds, minter, minterKey, keyMark, notBeforeS, expiresS, operations, within } =
    token;
  const nowMs = parts.clock.nowMs();
  if (nowMs >= expiresS * 1000) return failure('TOKEN_EXPIRED', 'the token has expired');
  if (nowMs < notBeforeS * 1000) return failure('TOKEN_EXPIRED', 'the token is not valid yet');
  if (operations.length === 0 || within?.length === 0) {
    return failure('TOKEN_SCOPE', 'the token was narrowed until it permits nothing');
  }
  const asked = { rootId, revocationIds, minter } as const;
  const found = await parts.store.query({ kind: 'token-standing', ...asked });
  if (!found.ok) return found.error;
  const { hasRoot, revoked, minterKey: boundKey } = found.value;
  const node = makerOf(rootId);
  const isOwn = node === parts.peerId;
  if (!hasRoot || !(isOwn || (await parts.isMember(node)))) {
    return failure('TOKEN_INVALID', 'no node that this one knows signed this token');
  }
  if (revoked) return failure('TOKEN_REVOKED', 'the token was revoked');
  if (minterKey !== null && boundKey !== undefined && boundKey !== minterKey) {
    return failure('TOKEN_REVOKED', 'the key of who minted the token was revoked or replaced');
  }
  if (isOwn && keyMark !== null && keyMark !== keyMarkNow(parts)) {
    return failure(
      'TOKEN_REVOKED',
      'the API key with which the token was minted is not that of this node now',
    );
  }
  return null;
}

function keyMarkNow({ settings: { apiKey, keyDir } }: TokenParts): string | null {
  const signer = apiKey === null ? null : loadTokenSigner(keyDir);
  return signer === null || apiKey === null ? null : keyMarkOf(signer, apiKey);
}
