import { TOKEN_PREFIX } from '../../protocol/base/ids.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { EVERY_NAMESPACE } from '../../protocol/base/within.js';
import { tokenIdOf } from '../../protocol/delegation/minted-token.js';
import { rootId, type TokenRoot } from '../../protocol/delegation/token-root-kind.js';
import { type Biscuit, biscuitLibrary } from './biscuit-library.js';
import { checksOf, type Limits, limitsOf, type Narrowing, type Origin, originText } from './token-text.js';

/** What fits into a header beside others. */
export const TOKEN_LENGTH_MAX = 6000;
const BLOCKS_MAX = 16;
/** The public key of the root, which says by which key the rest is verified, and the biscuit. */
const TOKEN = /^mnt_([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]+={0,2})$/;

/** A token whose signatures hold. */
export interface ReadToken extends Origin, Limits {
  readonly tokenId: string;
  /** Of all its blocks, the first one first. */
  readonly revocationIds: readonly string[];
  /** The public key of the root that signed it, 64 hex digits. */
  readonly publicKey: string;
}

/** A token that a known root signed. */
export interface VerifiedToken extends ReadToken {
  readonly rootId: string;
}

/** Mints a token with the seed of a root. */
export async function mintToken(
  root: { readonly seed: Uint8Array; readonly publicKey: Uint8Array },
  origin: Origin,
  narrowing: Narrowing,
): Promise<{ readonly token: string; readonly revocationId: string }> {
  const { Biscuit, PrivateKey, SignatureAlgorithm } = await biscuitLibrary();
  const builder = Biscuit.builder();
  builder.addCode(originText(origin, narrowing));
  const key = PrivateKey.fromBytes(root.seed, SignatureAlgorithm.Ed25519);
  const biscuit = builder.build(key);
  key.free();
  const [revocationId] = biscuit.getRevocationIdentifiers();
  return { token: textOf(Buffer.from(root.publicKey).toString('hex'), biscuit), revocationId: revocationId! };
}

/** A token that permits less. The holder of a token narrows it without a node. TOKEN_INVALID where the text is no token. */
export async function narrowToken(text: string, narrowing: Narrowing): Promise<Result<string>> {
  const opened = await openToken(text);
  if (!opened.ok) return failed(opened.error);
  const { biscuit, publicKey } = opened.value;
  if (biscuit.countBlocks() >= BLOCKS_MAX) return TOO_LONG;
  const block = (await biscuitLibrary()).Biscuit.block_builder();
  block.addCode(checksOf(narrowing));
  try {
    const narrowed = textOf(publicKey, biscuit.appendBlock(block));
    return narrowed.length > TOKEN_LENGTH_MAX ? TOO_LONG : ok(narrowed);
  } catch {
    return fail('TOKEN_INVALID', 'this token was sealed, and cannot be narrowed');
  }
}

/** What a token says. TOKEN_INVALID for a text that is none; whether its root counts is for a node to say. */
export async function readToken(text: string): Promise<Result<ReadToken>> {
  const opened = await openToken(text);
  if (!opened.ok) return failed(opened.error);
  const { biscuit, publicKey } = opened.value;
  try {
    const count = biscuit.countBlocks();
    const sources = Array.from({ length: Math.min(count, BLOCKS_MAX) }, (_, at) =>
      biscuit.getBlockSource(at),
    );
    const said = count > BLOCKS_MAX ? null : limitsOf(sources);
    if (said === null) return UNKNOWN_RESTRICTION;
    const revocationIds = biscuit.getRevocationIdentifiers();
    const tokenId = tokenIdOf(revocationIds.at(-1)!);
    return ok({ ...said.origin, ...said.limits, revocationIds, tokenId, publicKey });
  } catch {
    // A holder can sign a block that the library cannot print.
    return UNKNOWN_RESTRICTION;
  } finally {
    biscuit.free();
  }
}

/** What a token says, as people and programs read it. */
export const tokenFacts = (token: ReadToken) => ({
  token_id: token.tokenId,
  agent_id: token.agentId,
  operations: [...token.operations] as string[],
  namespaces: [...(token.within ?? [EVERY_NAMESPACE])],
  ...(token.notBeforeS === 0 ? {} : { not_before: instantFromMs(token.notBeforeS * 1000) }),
  expires_at: instantFromMs(token.expiresS * 1000),
  minted_by: token.minter ?? 'the operator of the node',
  root: token.publicKey,
  revocation_ids: [...token.revocationIds],
});

/** Reads a token that one of the roots signed. TOKEN_INVALID for any other text. */
export async function verifyToken(
  text: string,
  roots: readonly Pick<TokenRoot, 'peer_id' | 'key_id' | 'public_key'>[],
): Promise<Result<VerifiedToken>> {
  const named = shapeOf(text)?.publicKey;
  const root = roots.find(({ public_key }) => public_key === named);
  // Signatures are verified only under a key that is known, as that costs 1.5 ms.
  if (root === undefined) return named === undefined ? NO_TOKEN : UNKNOWN_ROOT;
  const said = await readToken(text);
  return said.ok ? ok({ ...said.value, rootId: rootId(root) }) : failed(said.error);
}

const NO_TOKEN = fail('TOKEN_INVALID', 'this is no token, or it was changed');
const TOO_LONG = fail(
  'TOKEN_INVALID',
  `a token has at most ${BLOCKS_MAX} blocks and ${TOKEN_LENGTH_MAX} characters`,
);
const UNKNOWN_RESTRICTION = fail(
  'TOKEN_INVALID',
  'the token has a restriction that this release does not know',
);
const UNKNOWN_ROOT = fail('TOKEN_INVALID', 'no node that this one knows signed this token');

const textOf = (publicKey: string, biscuit: Biscuit): string => {
  const text = biscuit.toBase64();
  biscuit.free();
  return `${TOKEN_PREFIX}${Buffer.from(publicKey, 'hex').toString('base64url')}.${text}`;
};

/** The key that a text names, and the biscuit behind it; null for a text of another shape. */
function shapeOf(text: string): { readonly publicKey: string; readonly rest: string } | null {
  const [, named, rest] = (text.length <= TOKEN_LENGTH_MAX ? TOKEN.exec(text) : null) ?? [];
  const bytes = Buffer.from(named ?? '', 'base64url');
  if (rest === undefined || bytes.toString('base64url') !== named) return null;
  return { publicKey: bytes.toString('hex'), rest };
}

/** The biscuit in a text, with all of its signatures verified by the key that the text names. */
async function openToken(
  text: string,
): Promise<Result<{ readonly biscuit: Biscuit; readonly publicKey: string }>> {
  const shape = shapeOf(text);
  if (shape === null) return NO_TOKEN;
  const { publicKey, rest } = shape;
  const { Biscuit, PublicKey, SignatureAlgorithm } = await biscuitLibrary();
  try {
    const key = PublicKey.fromBytes(Buffer.from(publicKey, 'hex'), SignatureAlgorithm.Ed25519);
    return ok({ biscuit: Biscuit.fromBase64(rest, key), publicKey });
  } catch {
    return NO_TOKEN;
  }
}
