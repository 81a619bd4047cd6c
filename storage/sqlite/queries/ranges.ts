import { bucketOf } from '../../../protocol/mesh/ranges.js';
import type {
  ReadLogged,
  ReadRangeSubjects,
  ReadRanges,
  RepairAnswers,
} from '../../../protocol/mesh/repair-terms.js';
import type { WireOperation } from '../../../protocol/mesh/wire.js';
import { memoryPayload } from '../../../protocol/operation-log.js';
import type { Crypto } from '../../../protocol/seams.js';
import { isReadable } from '../digests.js';
import { type OperationSqlRow, operationFromSql } from '../operation-rows.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../rows.js';
import type { Statements } from '../statements.js';

interface SubjectRow {
  readonly subject: string;
  readonly digest: unknown;
}

const SUBJECTS = `SELECT id AS subject, digest FROM memories
    WHERE ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace)
  UNION ALL
  SELECT source_id || '|' || target_id || '|' || relation, digest FROM memory_links WHERE namespace = @namespace`;

const hex = (digest: unknown): string => (isReadable(digest) ? Buffer.from(digest).toString('hex') : '');

/** The digest of each range of a namespace: the sum (exclusive or) over its rows, as that of the namespace itself. */
export function readRanges(
  statements: Statements,
  crypto: Crypto,
  { namespace }: ReadRanges,
): RepairAnswers['read-ranges'] {
  const sums = new Map<number, Buffer>();
  const rows = statements.get(SUBJECTS).iterate({ namespace }) as IterableIterator<SubjectRow>;
  for (const { subject, digest } of rows) {
    const bucket = bucketOf(subject, crypto);
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
  statements: Statements,
  crypto: Crypto,
  { namespace, ranges, limit }: ReadRangeSubjects,
): RepairAnswers['read-range-subjects'] {
  const wanted = new Map(ranges.map((bucket) => [bucket, [] as [string, string][]]));
  const rows = statements.get(SUBJECTS).iterate({ namespace }) as IterableIterator<SubjectRow>;
  for (const { subject, digest } of rows) wanted.get(bucketOf(subject, crypto))?.push([subject, hex(digest)]);
  const subjects: [string, string][] = [];
  const read: number[] = [];
  for (const bucket of ranges) {
    if (subjects.length >= limit) break;
    subjects.push(...wanted.get(bucket)!.sort(([a], [b]) => (a < b ? -1 : 1)));
    read.push(bucket);
  }
  return { subjects, ranges: read };
}

/** Operations of the log by their places; a payload that the log lost comes from the row that it made, if that stands. */
export function readLogged(
  statements: Statements,
  crypto: Crypto,
  { places, bytesMax }: ReadLogged,
): RepairAnswers['read-logged'] {
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
    const payload = [operation.payload, imageOf(statements, operation)].find(isIts) ?? null;
    operations.push({ ...operation, payload });
    bytes += payload?.length ?? 0;
  }
  return { operations };
}

/**
 * What the log lost the row may still say, if this very operation made it: another one's subject and hash are no secret,
 * and a stub that repeats them under a namespace of its own must not get the text.
 */
function imageOf(statements: Statements, { subject, origin, seq, namespace }: WireOperation): string | null {
  const row = statements
    .get(
      `SELECT ${SELECT_ROW} FROM memories m
       WHERE m.id = ? AND m.origin = ? AND m.origin_seq = ? AND m.namespace = ?`,
    )
    .get(subject, origin, seq, namespace);
  if (row === undefined) return null;
  try {
    return memoryPayload(memoryFromSql(row as SqlRow));
  } catch {
    return null;
  }
}
