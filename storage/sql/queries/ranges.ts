import type { SubjectId } from '../../../protocol/base/meanings.js';
import { bucketOf, type KindNamespace } from '../../../protocol/log/ranges.js';
import type { WireOperation } from '../../../protocol/log/wire-operation.js';
import type { Answers } from '../../../protocol/release.js';
import type {
  ReadLogged,
  ReadRangeSubjects,
  ReadRanges,
} from '../../../protocol/replication/repair-queries.js';
import { isReadable } from '../digests.js';
import { type OperationSqlRow, operationFromSql } from '../operation-rows.js';
import type { QueryParts } from './query-parts.js';

interface SubjectRow {
  readonly subject: SubjectId;
  readonly digest: unknown;
}

const hex = (digest: unknown): string => (isReadable(digest) ? Buffer.from(digest).toString('hex') : '');

function rowsOf({ statements, pages }: QueryParts, { kind, namespace }: KindNamespace): Iterable<SubjectRow> {
  const sql = pages.of(kind)?.digestsSql;
  return sql === undefined ? [] : (statements.get(sql).iterate({ namespace }) as Iterable<SubjectRow>);
}

/** The digest of each range of a namespace: the sum (exclusive or) over its rows, like the namespace's own digest. */
export function readRanges(source: QueryParts, { of }: ReadRanges): Answers['read-ranges'] {
  const sums = new Map<number, Buffer>();
  for (const { subject, digest } of rowsOf(source, of)) {
    const bucket = bucketOf(subject, source.crypto);
    let sum = sums.get(bucket);
    if (sum === undefined) {
      sum = Buffer.alloc(32);
      sums.set(bucket, sum);
    }
    if (!isReadable(digest)) continue;
    for (let i = 0; i < 32; i += 1) sum[i] = sum[i]! ^ digest[i]!;
  }
  const ordered = [...sums].sort(([a], [b]) => a - b);
  return { ranges: Object.fromEntries(ordered.map(([bucket, sum]) => [bucket, sum.toString('hex')])) };
}

/** Subjects of some ranges with their digests. */
export function readRangeSubjects(
  source: QueryParts,
  { of, ranges, limit }: ReadRangeSubjects,
): Answers['read-range-subjects'] {
  const byRange = new Map(ranges.map((bucket) => [bucket, [] as [string, string][]]));
  for (const { subject, digest } of rowsOf(source, of)) {
    byRange.get(bucketOf(subject, source.crypto))?.push([subject, hex(digest)]);
  }
  const subjects: [string, string][] = [];
  const read: number[] = [];
  for (const bucket of ranges) {
    if (subjects.length >= limit) break;
    subjects.push(...byRange.get(bucket)!.sort(([a], [b]) => (a < b ? -1 : 1)));
    read.push(bucket);
  }
  return { subjects, ranges: read };
}

/**
 * Operations of the log by their positions. A payload that the log lost comes from the row that it made, if that is
 * still current, and only from the row of exactly this operation. The subject and hash of another operation are not
 * secret, and a header that repeats them under its own namespace must not get the text.
 */
export function readLogged(
  { statements, crypto, pages }: QueryParts,
  { places, bytesMax }: ReadLogged,
): Answers['read-logged'] {
  const operations: WireOperation[] = [];
  let bytes = 0;
  for (const { origin, seq } of places) {
    if (bytes >= bytesMax) break;
    const row = statements
      .get('SELECT * FROM operations WHERE origin = ? AND origin_seq = ?')
      .get(origin, seq) as OperationSqlRow | undefined;
    if (row === undefined) continue;
    const operation = operationFromSql(row);
    const isIts = (text: string | null) => text !== null && crypto.sha256Hex(text) === operation.payloadHash;
    const kind = pages.kinds.ofWord(operation.kind)?.kind.name;
    const text = kind === undefined ? null : (pages.of(kind)?.textOf(statements, operation) ?? null);
    const payload = [operation.payload, text].find(isIts) ?? null;
    operations.push({ ...operation, payload });
    bytes += payload?.length ?? 0;
  }
  return { operations };
}
