import { subtreeRoot } from '../../../protocol/base/ids.js';
import { READ_RECORDS_MAX } from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import { isWithheld } from '../../../protocol/base/withheld.js';
import type { Kind } from '../../../protocol/kinds/kind.js';
import type { RecordImage, RecordPlace } from '../../../protocol/kinds/record.js';
import type { AnswerOf } from '../../../protocol/release.js';
import type { ExportRecords, ReadRecords } from '../../../protocol/transfer/queries.js';
import { DamagedRowError } from '../damage.js';
import { type RecordSqlRow, recordImageOf } from '../kinds/record-table.js';
import type { Statements } from '../statements.js';
import type { QueryParts } from './query-parts.js';

type SqlRow = RecordSqlRow & { readonly kind: string };

/**
 * A page of the records of all exported kinds. It always holds one record, of any size; it leaves out records that
 * cannot be read.
 */
export function exportRecords(
  { statements, kinds: { all } }: QueryParts,
  { namespace = null, after, limit, bytesMax, withheld }: ExportRecords,
): AnswerOf<ExportRecords> {
  const exported = new Map(all.filter(isExportedRecord).map((kind) => [kind.name, kind]));
  const root = namespace === null ? null : subtreeRoot(namespace);
  const rows = statements
    .get(
      `SELECT * FROM records WHERE kind IN (SELECT value FROM json_each(@kinds)) AND (kind, id) > (@kind, @id)
         AND (@namespace IS NULL OR namespace = @namespace
           OR (@subtree = 1 AND namespace > @namespace || '/' AND namespace < @namespace || '0'))
       ORDER BY kind, id LIMIT @limit`,
    )
    .iterate({
      kinds: JSON.stringify([...exported.keys()]),
      kind: after?.kind ?? '',
      id: after?.id ?? '',
      limit: limit + 1,
      namespace: root ?? namespace,
      subtree: root === null ? 0 : 1,
    }) as IterableIterator<SqlRow>;
  const records: RecordImage[] = [];
  const damaged: string[] = [];
  let last: RecordPlace | null = null;
  let more = false;
  let skipped = 0;
  let bytes = 0;
  for (const row of rows) {
    const kind = exported.get(row.kind)!;
    bytes += Buffer.byteLength(String(row.payload)) + String(row.id).length + String(row.namespace).length;
    more = records.length + damaged.length + skipped === limit || (records.length > 0 && bytes > bytesMax);
    if (more) break;
    const id = String(row.id);
    const image = readable(kind, row);
    if (withheld !== undefined && isKept(statements, kind, { row, image, withheld })) skipped += 1;
    else if (image === null) damaged.push(id);
    else records.push({ kind: kind.name, id, namespace: row.namespace, image });
    last = { kind: kind.name, id };
  }
  return { records, more, last, ...(damaged.length === 0 ? {} : { damaged }) };
}

interface Exported {
  readonly row: SqlRow;
  readonly image: object | null;
  readonly withheld: readonly string[];
}

/** True for a record that rules about reads keep from the caller who exports, by its namespace or by a memory that it names. */
function isKept(statements: Statements, kind: Kind, { row, image, withheld }: Exported): boolean {
  if (isWithheld({ withheld }, String(row.namespace))) return true;
  return kind.memoryMembers.some((member) => {
    const id = (image as Readonly<Record<string, unknown>> | null)?.[member];
    if (typeof id !== 'string') return false;
    const found = statements.get('SELECT namespace FROM memories WHERE id = ?').pluck().get(id);
    return typeof found === 'string' && isWithheld({ withheld }, found);
  });
}

/** The image of a record that its id and namespace belong to; null for a row that an import would refuse. */
function readable(kind: Kind, row: SqlRow): object | null {
  if (typeof row.id !== 'string' || typeof row.namespace !== 'string') return null;
  const image = recordImageOf(kind, row);
  return image !== null && (kind.idOf(image) ?? row.id) === row.id ? image : null;
}

/** The records of a kind with the given ids. VALIDATION_FAILED for a kind that is not stored in `records`. */
export function readRecords(
  { statements, kinds }: QueryParts,
  { of, ids }: ReadRecords,
): Result<AnswerOf<ReadRecords>> {
  const kind = kinds.named(of);
  if (kind === null || typeof kind.table === 'string') {
    return fail('VALIDATION_FAILED', `kind "${of}" is not stored as records`, { fields: ['of'] });
  }
  if (ids.length > READ_RECORDS_MAX) {
    const message = `at most ${READ_RECORDS_MAX} records can be read at once`;
    return fail('VALIDATION_FAILED', message, { fields: ['ids'], max: READ_RECORDS_MAX, count: ids.length });
  }
  const rows = statements
    .get(
      `SELECT r.* FROM json_each(@ids) AS asked CROSS JOIN records r ON r.kind = @kind AND r.id = asked.value
       ORDER BY CAST(asked.key AS INTEGER)`,
    )
    .all({ ids: JSON.stringify(ids), kind: of }) as SqlRow[];
  return ok({ records: rows.map((row) => imageOf(kind, row)) });
}

const isExportedRecord = ({ exported, table }: Kind): boolean => exported && typeof table !== 'string';

function imageOf(kind: Kind, sql: SqlRow): RecordImage {
  const image = recordImageOf(kind, sql);
  const { id, namespace } = sql;
  if (image === null) throw new DamagedRowError(kind.name, id);
  return { kind: kind.name, id, namespace, image };
}
