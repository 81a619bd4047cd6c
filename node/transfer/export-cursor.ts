import { z } from 'zod';
import { HEADER_TEXT_LENGTH_MAX } from '../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { RecordPlace } from '../../protocol/kinds/record.js';
import type { ExportLinkPlace, ExportPlace } from '../../protocol/transfer/queries.js';

/** Where the next page of an export begins: among the memories and links, or among the records, which follow them. */
export type ExportCursor = RowCursor | RecordCursor;

export interface RowCursor {
  /** The last memory so far. */
  readonly memory: ExportPlace;
  /** The last link so far, while some links of the memories so far are not exported yet. */
  readonly link: ExportLinkPlace | null;
}

export interface RecordCursor {
  /** The last record so far. */
  readonly record: RecordPlace;
}

/** Distinguishes the place of a record from that of a row. */
const RECORDS = 'records';

const text = z.string().max(256);
const cursorSchema = z.union([
  z.tuple([text, text]).transform(([created_at, id]) => ({ memory: { created_at, id }, link: null })),
  z
    .tuple([text, text, text, text, text, text])
    .transform(([created_at, id, linkCreated, source, target_id, relation]) => ({
      memory: { created_at, id },
      link: { created_at: linkCreated, id: source, link: { target_id, relation } },
    })),
  z
    .tuple([z.literal(RECORDS), text, z.string().max(HEADER_TEXT_LENGTH_MAX)])
    .transform(([, kind, id]) => ({ record: { kind, id } })),
]);

/** The cursor for clients: opaque, and valid for ever. */
export function cursorText(cursor: ExportCursor): string {
  return Buffer.from(JSON.stringify(placeOf(cursor))).toString('base64url');
}

function placeOf(cursor: ExportCursor): readonly string[] {
  if ('record' in cursor) return [RECORDS, cursor.record.kind, cursor.record.id];
  const { memory, link } = cursor;
  const place = [memory.created_at, memory.id];
  if (link?.link) place.push(link.created_at, link.id, link.link.target_id, link.link.relation);
  return place;
}

/** VALIDATION_FAILED for a text that is not a cursor. */
export function parseCursor(cursor: string): Result<ExportCursor> {
  try {
    const parsed = cursorSchema.safeParse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    if (parsed.success) return ok(parsed.data);
  } catch {
    // Not JSON; answered below.
  }
  return fail(
    'VALIDATION_FAILED',
    'cursor does not come from an export: use next_cursor of the previous page',
    { fields: ['cursor'] },
  );
}
