import type { AgentId, Instant } from '../base/meanings.js';
import { fail } from '../base/result.js';
import { instantFromMs } from '../base/time.js';
import type { Viewer } from '../base/viewer.js';
import { MESH_NAMESPACE } from '../decide/adoption-kind.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { dropRows, localRow, putRow } from '../decide/local-rows.js';
import { appendAudit } from '../decide/mutations.js';
import { dropRecord, putRecord, recordRow } from '../decide/record-writes.js';
import { NO_REST } from '../kinds/payload.js';
import { type MintedToken, mintedTokenKind, tokenIdOf } from './minted-token.js';
import { isRevocationId, tokenRevocationKind } from './token-revocation-kind.js';
import { rootId, type TokenRoot, tokenRootKind } from './token-root-kind.js';

/** Records a token that was minted, and publishes the root that verifies it. The caller's permission is checked before. */
export interface NoteToken {
  readonly kind: 'note-token';
  readonly token: MintedToken;
  readonly root: TokenRoot;
}

/** How long a node remembers tokens that have expired. */
const REMEMBERED_MS = 30 * 86_400_000;

function* decideNoteToken({ token, root }: NoteToken, { nowMs }: DecisionContext): Deciding<object> {
  const id = rootId(root);
  const known = yield* recordRow(tokenRootKind, id);
  const { token_id, agent_id, operations, namespaces, expires_at, minted_by } = token;
  const payload = { token_id, agent_id, operations, namespaces, expires_at };
  return decided({}, [
    ...(known === null ? [yield* putRecord(tokenRootKind, { id, namespace: MESH_NAMESPACE }, root)] : []),
    dropRows(mintedTokenKind, { expires_at: { before: instantFromMs(nowMs - REMEMBERED_MS) } }),
    putRow(mintedTokenKind, token),
    appendAudit({ event: { agentId: minted_by, type: 'token.minted', payload } }),
  ]);
}

/** Makes a token void, and every token that was narrowed from it. */
export interface RevokeToken {
  readonly kind: 'revoke-token';
  /** A revocation id, or the id of a token that this node minted. */
  readonly id: string;
  /** True for who has the token: it may always end it. */
  readonly held: boolean;
  readonly viewer: Viewer;
  readonly by: AgentId;
}

export interface Revoked {
  readonly tokenId: string;
  readonly revokedAt: Instant;
  /** True where it was void before. */
  readonly before: boolean;
}

function* decideRevokeToken(
  { id, held, viewer, by }: RevokeToken,
  { now }: DecisionContext,
): Deciding<Revoked> {
  const minted = yield* localRow(mintedTokenKind, { token_id: tokenIdOf(id) });
  const own = minted !== null && mintedTokenKind.isVisible(minted, viewer) ? minted : null;
  const revocationId = isRevocationId(id) ? id : (own?.revocation_id ?? null);
  // Whose token it is, only the node knows that minted it; elsewhere who sees everything may end it.
  if (revocationId === null || !(held || viewer.all || own?.revocation_id === revocationId))
    return fail('NOT_FOUND', 'there is no such token, or it is not yours: give the token itself');
  const tokenId = tokenIdOf(revocationId);
  const row = yield* recordRow(tokenRevocationKind, revocationId);
  if (row !== null) return decided({ tokenId, revokedAt: row.image.revoked_at, before: true }, []);
  const revocation = { revocation_id: revocationId, revoked_by: by, revoked_at: now, rest: NO_REST };
  return decided({ tokenId, revokedAt: now, before: false }, [
    yield* putRecord(tokenRevocationKind, { id: revocationId, namespace: MESH_NAMESPACE }, revocation),
    appendAudit({ event: { agentId: by, type: 'token.revoked', payload: { token_id: tokenId } } }),
  ]);
}

/** Takes the root of this node away: every token that it minted is void everywhere. */
export interface DropTokenRoot {
  readonly kind: 'drop-token-root';
  readonly id: string;
  readonly by: AgentId;
}

function* decideDropRoot({ id, by }: DropTokenRoot): Deciding<{ readonly dropped: boolean }> {
  const row = yield* recordRow(tokenRootKind, id);
  if (row === null) return decided({ dropped: false }, []);
  const payload = { key_id: row.image.key_id };
  return decided({ dropped: true }, [
    dropRecord(tokenRootKind, row, 'replaced'),
    appendAudit({ event: { agentId: by, type: 'token.root_dropped', payload } }),
  ]);
}

export const noteTokenCommand = defineCommand({
  kind: 'note-token',
  decide: decideNoteToken,
  gate: 'governance',
});

export const revokeTokenCommand = defineCommand({
  kind: 'revoke-token',
  decide: decideRevokeToken,
  gate: 'governance',
});

export const dropTokenRootCommand = defineCommand({
  kind: 'drop-token-root',
  decide: decideDropRoot,
  gate: 'governance',
});
