import { readBuckets } from '../../../actors/mesh/namespace-digests.js';
import { SYNC_PAGE_BYTES_MAX } from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock, Crypto, Signer } from '../../../protocol/base/seams.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { encodeCursor } from '../../../protocol/log/cursor.js';
import { rootDigest } from '../../../protocol/log/digest.js';
import { haveOf, headBytes, peerOfOrigin, type SignedHead } from '../../../protocol/log/wire-operation.js';
import { mayHave, type Peer } from '../../../protocol/peers/peer.js';
import { KINDS } from '../../../protocol/release.js';
import type { ReadOperations, ReadOperationsAnswer } from '../../../protocol/replication/queries.js';
import type { PullReply } from '../../../protocol/wire/bodies.js';
import type { PullQuestion } from '../../../protocol/wire/pull-question.js';
import type { Store } from '../../../storage/port.js';
import { VERSION } from '../../version.js';

export interface PullParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly crypto: Crypto;
  readonly peerId: string;
  readonly signer: Signer | null;
}

/**
 * A page of the operations beyond what a peer has (design: mesh). Payloads that the peer may not hold are left out, but
 * not their headers, so that every chain can be verified.
 */
export async function handlePull(
  parts: PullParts,
  peer: Peer,
  { have, limit, origins, stubs }: PullQuestion,
): Promise<Result<PullReply & Readonly<Record<string, unknown>>>> {
  const known = await parts.store.query({ kind: 'known-origins' });
  if (!known.ok) return failed(known.error);
  const all = haveOf(known.value.heads);
  const wall_clock = instantFromMs(parts.clock.nowMs());
  if (peer.pullDenied === true) {
    const nothing = {
      operations: [],
      heads: [],
      more: false,
      next_cursor: encodeCursor(have),
      have: {},
      root: null,
    };
    return ok({ ...nothing, wall_clock, version: VERSION, scope_status: 'no_allowlist_default_deny' });
  }

  const page = await pageFor(parts.store, stubs ? null : peer, {
    have,
    origins,
    limit,
    bytesMax: SYNC_PAGE_BYTES_MAX,
  });
  if (!page.ok) return failed(page.error);
  const { operations, more, ends } = page.value;
  const root =
    operations.length === 0 && !more && origins === null
      ? await rootFor(parts, peer, known.value.commitSequence)
      : ok(null);
  if (!root.ok) return failed(root.error);
  const next: Record<string, number> = { ...have };
  for (const [origin, { seq }] of Object.entries(ends)) next[origin] = seq;
  return ok({
    operations: operations.map((operation) =>
      mayHave(peer, operation, KINDS) ? operation : { ...operation, payload: null },
    ),
    heads: signedHeads(parts, page.value),
    more,
    next_cursor: encodeCursor(next),
    have: all,
    root: root.value,
    wall_clock,
    version: VERSION,
  });
}

/**
 * Ends the page before the first operation that this node only has as a header, because of its scope, and that the peer
 * may hold whole: the peer must get it from a node that has it whole. A null peer gets everything.
 */
async function pageFor(
  store: Store,
  peer: Peer | null,
  query: Omit<ReadOperations, 'kind'>,
): Promise<Result<ReadOperationsAnswer>> {
  const upTo: Record<string, number> = {};
  // Each pass ends one more origin early, and leaves room for another.
  for (;;) {
    const page = await store.query({ kind: 'read-operations', ...query, upTo });
    if (!page.ok) return page;
    const lacking = page.value.lacking.filter((each) => peer !== null && mayHave(peer, each, KINDS));
    if (lacking.length === 0) return page;
    for (const { origin, seq } of lacking) upTo[origin] = Math.min(seq - 1, upTo[origin] ?? seq);
  }
}

/** Heads of other origins are sent as stored; those of this node's own origins are signed now. */
function signedHeads({ peerId, signer }: PullParts, page: ReadOperationsAnswer): SignedHead[] {
  const heads = [...page.heads];
  for (const [origin, { seq, hash }] of Object.entries(page.ends)) {
    if (peerOfOrigin(origin) !== peerId || signer === null) continue;
    if (heads.some((head) => head.origin === origin && head.seq === seq)) continue;
    const signature = Buffer.from(signer.sign(headBytes({ origin, seq, hash }))).toString('base64');
    heads.push({ origin, seq, hash, signature });
  }
  return heads;
}

/** The root over what the peer may hold; null when a write happened after the page was read. */
async function rootFor(parts: PullParts, peer: Peer, commitSequence: number): Promise<Result<string | null>> {
  const buckets = await readBuckets(parts.store, [peer.allowedNamespaces]);
  if (!buckets.ok) return failed(buckets.error);
  const after = await parts.store.query({ kind: 'known-origins' });
  if (!after.ok) return failed(after.error);
  if (after.value.commitSequence !== commitSequence) return ok(null);
  return ok(rootDigest(buckets.value, parts.crypto));
}
