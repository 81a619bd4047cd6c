import { namespaceProblem } from '../base/ids.js';
import { signatureFromText } from '../base/key-text.js';
import type { Crypto } from '../base/seams.js';
import { headerHash } from '../log/operation-log.js';
import {
  hasEpoch,
  headBytes,
  peerOfOrigin,
  type RefusalReason,
  type SignedHead,
  type VerifiedOperation,
  type WireOperation,
} from '../log/wire-operation.js';
import { mayWrite, type Peer } from '../peers/peer.js';
import type { RefusedOperation } from '../wire/bodies.js';
import type { ReadOperation } from '../wire/wire-schema.js';
import { impliedPayload } from './payloads.js';
import type { VerifiedBatch } from './verified-batch.js';
import type { AuthorVerifier } from './verify-author.js';

/** Who made operations, and what each may write here. */
export interface Origins {
  /**
   * The key of the peer that an origin belongs to, also of departed peers and of this node; null when it is unknown.
   */
  keyOf(peerId: string): Uint8Array | null;
  /** The namespaces that the peer may hold; null for all. */
  scopeOf(peerId: string): Pick<Peer, 'allowedNamespaces'>;
  /** True for an operation whose content may not be here. */
  refuses?(operation: WireOperation): boolean;
}

interface Run {
  readonly operations: VerifiedOperation[];
  broken: RefusalReason | null;
}

/**
 * Verifies the operations of a message against each other, without the store: payloads against their hashes, each
 * origin's chain from one operation to the next, and its end against the head that the origin signed. Operations after
 * a break, or after the last signed head, are refused as `bad_chain`. The store checks whether the first operation fits
 * its log.
 *
 * An operation whose author's signature is wrong is marked but kept, because it is part of the chain. An operation that
 * its maker may not write here, or whose content may not be here, becomes header-only.
 */
export function verifyOperations(
  read: readonly ReadOperation[],
  heads: readonly SignedHead[],
  origins: Origins,
  authors: AuthorVerifier,
  crypto: Crypto,
): VerifiedBatch {
  const runs = new Map<string, Run>();
  const refused: RefusedOperation[] = [];
  let unreadable = 0;
  for (const item of read) {
    const at = item.ok ? item.operation : item.place;
    if (at === null) {
      unreadable += 1;
      continue;
    }
    const { origin, seq } = at;
    let run = runs.get(origin);
    if (run === undefined) {
      run = { operations: [], broken: originProblem(origin, origins) };
      runs.set(origin, run);
    }
    if (run.broken === null) {
      const verified = item.ok ? follow(run.operations.at(-1), item.operation, crypto) : null;
      if (verified === null) run.broken = 'bad_chain';
      else run.operations.push(marked(verified, origins, authors));
    }
    if (run.broken !== null) refused.push({ origin, seq, reason: run.broken });
  }

  const operations: VerifiedOperation[] = [];
  const ends: SignedHead[] = [];
  for (const [origin, run] of runs) {
    const end = coveringHead(origin, run.operations, heads, origins, crypto);
    for (const operation of run.operations) {
      if (end !== null && operation.seq <= end.seq) operations.push(operation);
      else refused.push({ origin, seq: operation.seq, reason: 'bad_chain' });
    }
    if (end !== null) ends.push(end);
  }
  return { operations, heads: ends, refused, unreadable };
}

function originProblem(origin: string, { keyOf }: Origins): RefusalReason | null {
  if (keyOf(peerOfOrigin(origin)) === null) return 'unknown_origin';
  return hasEpoch(origin) ? null : 'bad_chain';
}

/**
 * Verifies a single operation like an operation of a batch. The store checks the header, because its chain knows the
 * hash. Null when the payload does not match its hash.
 */
export function verifySingle(
  operation: WireOperation,
  origins: Origins,
  authors: AuthorVerifier,
  crypto: Crypto,
): VerifiedOperation | null {
  const verified = follow(undefined, operation, crypto);
  return verified === null ? null : marked(verified, origins, authors);
}

/** The operation with its hash, when its payload matches and it follows the operation before; else null. */
function follow(
  before: VerifiedOperation | undefined,
  operation: WireOperation,
  crypto: Crypto,
): VerifiedOperation | null {
  const { payload, payloadHash } = operation;
  if (payload !== null && crypto.sha256Hex(payload) !== payloadHash) return null;
  const implied = payload === null ? impliedPayload(operation) : null;
  const follows = implied !== null && crypto.sha256Hex(implied) === payloadHash;
  if (before !== undefined && (operation.seq !== before.seq + 1 || operation.prevHash !== before.hash)) {
    return null;
  }
  const hash = headerHash(operation, crypto);
  const verified = { ...operation, hash, refusal: null, scope: null };
  return follows ? { ...verified, payload: implied, implied: true } : verified;
}

function marked(verified: VerifiedOperation, origins: Origins, authors: AuthorVerifier): VerifiedOperation {
  const { payload } = verified;
  const scope = origins.scopeOf(peerOfOrigin(verified.origin));
  const operation = { ...verified, scope: scope.allowedNamespaces };
  if (payload === null) return operation;
  if (!mayWrite(scope, operation)) return { ...operation, payload: null };
  if (namespaceProblem(operation.namespace) !== null) return { ...operation, refusal: 'invalid' };
  const { holds, envelope } = authors.verify(operation.kind, payload);
  if (!holds) return { ...operation, refusal: 'bad_signature' };
  if (origins.refuses?.(operation) === true) return { ...operation, payload: null, refusal: 'secret' };
  return envelope === null ? operation : { ...operation, envelope };
}

/** The last head that the origin's peer signed and that belongs to one of these operations. */
function coveringHead(
  origin: string,
  operations: readonly VerifiedOperation[],
  heads: readonly SignedHead[],
  origins: Origins,
  crypto: Crypto,
): SignedHead | null {
  const first = operations[0];
  const publicKey = origins.keyOf(peerOfOrigin(origin));
  if (first === undefined || publicKey === null) return null;
  const candidates = heads
    .filter((head) => head.origin === origin && operations[head.seq - first.seq]?.hash === head.hash)
    .sort((one, other) => other.seq - one.seq)
    .slice(0, HEADS_TRIED_MAX);
  for (const head of candidates) {
    const signature = signatureFromText(head.signature);
    if (signature !== null && crypto.verify(publicKey, headBytes(head), signature)) return head;
  }
  return null;
}

/** A message has one head for each origin; more heads get only a little work. */
const HEADS_TRIED_MAX = 4;
