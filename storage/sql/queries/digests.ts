import { bucketOf, type NamespaceDigest } from '../../../protocol/log/ranges.js';
import { heldByAll } from '../../../protocol/log/scope.js';
import type {
  ReadBuckets,
  ReadBucketsAnswer,
  ReadDigestsAnswer,
  ReadNamespaces,
  ReadNamespacesAnswer,
} from '../../../protocol/replication/queries.js';
import type { QueryParts } from './query-parts.js';

/** Digests by kind and namespace. Every known kind has an entry, so peers see which kinds this node knows. */
export function readDigests({ statements, kinds: { all } }: QueryParts): ReadDigestsAnswer {
  const rows = statements
    .get(
      'SELECT kind, namespace, lower(hex(digest)) AS digest, entries FROM namespace_digests ORDER BY namespace',
    )
    .all() as { kind: string; namespace: string; digest: string; entries: number }[];
  const known = all.map(({ name }) => {
    const own = rows.filter(({ kind }) => kind === name);
    return [name, Object.fromEntries(own.map(({ namespace, digest }) => [namespace, digest]))] as const;
  });
  return { digests: Object.fromEntries(known), rows: rows.reduce((sum, row) => sum + row.entries, 0) };
}

interface Kept {
  readonly kind: string;
  readonly namespace: string;
  /** Hex; null when it cannot be read. It then counts as none, so the peer's differs and the namespace is counted again. */
  readonly digest: string | null;
}

// After disk damage a value may have any type. No namespace is empty.
const KEPT = `SELECT kind, namespace,
    CASE WHEN typeof(digest) = 'blob' AND length(digest) = 32 THEN lower(hex(digest)) END AS digest
  FROM namespace_digests WHERE typeof(namespace) = 'text'`;

export function readBuckets(
  { statements, crypto, kinds: { all } }: QueryParts,
  { within, after, limit }: ReadBuckets,
): ReadBucketsAnswer {
  const isHeld = heldByAll(within);
  const sums = new Map(all.map(({ name }) => [name, new Map<number, Buffer>()]));
  const { kind: afterKind, namespace: afterNamespace } = after ?? { kind: '', namespace: '' };
  const rows = statements
    .get(`${KEPT} AND (kind, namespace) > (?, ?) ORDER BY kind, namespace LIMIT ?`)
    .all(afterKind, afterNamespace, limit) as Kept[];
  for (const { kind, namespace, digest } of rows) {
    const buckets = sums.get(kind);
    if (buckets === undefined || digest === null || !isHeld(namespace)) continue;
    const bucket = bucketOf(namespace, crypto);
    const term = Buffer.from(crypto.sha256(`${namespace}\n${digest}`));
    const sum = buckets.get(bucket);
    if (sum === undefined) buckets.set(bucket, term);
    else for (let i = 0; i < sum.length; i += 1) sum[i] = sum[i]! ^ term[i]!;
  }
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    buckets: Object.fromEntries(
      [...sums].map(([kind, buckets]) => [
        kind,
        Object.fromEntries([...buckets].map(([bucket, sum]) => [bucket, sum.toString('hex')])),
      ]),
    ),
    next: last === undefined ? null : { kind: last.kind, namespace: last.namespace },
  };
}

/** Bytes of a digest, its quotes and its brackets as JSON. */
const DIGEST_BYTES = 70;

export function readNamespaces(
  { statements, crypto }: QueryParts,
  { of, buckets, within, after, upTo, limit, bytesMax }: ReadNamespaces,
): ReadNamespacesAnswer {
  const isHeld = heldByAll(within);
  const wanted = new Set(buckets);
  const end = upTo === null ? '' : 'AND namespace <= ?';
  const rows = statements
    .get(`${KEPT} AND kind = ? AND namespace > ? ${end} ORDER BY namespace LIMIT ?`)
    .iterate(of, after ?? '', ...(upTo === null ? [] : [upTo]), limit) as IterableIterator<Kept>;
  const digests: NamespaceDigest[] = [];
  let bytes = 0;
  let looked = 0;
  let last: string | null = null;
  for (const { namespace, digest } of rows) {
    looked += 1;
    last = namespace;
    if (digest !== null && wanted.has(bucketOf(namespace, crypto)) && isHeld(namespace)) {
      digests.push([namespace, digest]);
      bytes += Buffer.byteLength(JSON.stringify(namespace)) + DIGEST_BYTES;
    }
    if (bytes >= bytesMax) return { digests, bytes, next: last };
  }
  return { digests, bytes, next: looked < limit ? null : last };
}
