import { DIGESTS_LOOKED_MAX, RANGE_NAMESPACES_BYTES_MAX } from '../../protocol/base/limits.js';
import { ok, type Result } from '../../protocol/base/result.js';
import { addBuckets } from '../../protocol/log/digest.js';
import type { BucketDigests, NamespaceDigest } from '../../protocol/log/ranges.js';
import type { Scope } from '../../protocol/log/scope.js';
import type { ReadBuckets, ReadNamespaces } from '../../protocol/replication/queries.js';
import type { Store } from '../../storage/port.js';

// Each query looks at a bounded number of namespaces, so that no reader is blocked for long.
const PAGE = { limit: DIGESTS_LOOKED_MAX } as const;
const BACKGROUND = { lane: 'background' } as const;

/** The digests of all buckets, over the namespaces that every one of these scopes holds. */
export async function readBuckets(store: Store, within: readonly Scope[]): Promise<Result<BucketDigests>> {
  let sums: BucketDigests = {};
  for (let after: ReadBuckets['after'] = null; ; ) {
    const query: ReadBuckets = { kind: 'read-buckets', within, after, ...PAGE };
    const page = await store.query(query, BACKGROUND);
    if (!page.ok) return page;
    sums = addBuckets(sums, page.value.buckets);
    after = page.value.next;
    if (after === null) return ok(sums);
  }
}

export interface NamespacesPage {
  readonly digests: readonly NamespaceDigest[];
  /** The last namespace that was looked at; null on the last page. */
  readonly next: string | null;
}

/** A page of the digests of namespaces that fits into one message. */
export async function readNamespaces(
  store: Store,
  query: Omit<ReadNamespaces, 'kind' | 'limit' | 'bytesMax'>,
): Promise<Result<NamespacesPage>> {
  const digests: NamespaceDigest[] = [];
  let room = RANGE_NAMESPACES_BYTES_MAX;
  for (let { after } = query; ; ) {
    const question = { kind: 'read-namespaces', ...query, ...PAGE, after, bytesMax: room } as const;
    const page = await store.query(question, BACKGROUND);
    if (!page.ok) return page;
    for (const each of page.value.digests) digests.push(each);
    room -= page.value.bytes;
    after = page.value.next;
    if (after === null || room <= 0) return ok({ digests, next: after });
  }
}
