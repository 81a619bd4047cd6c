import { z } from 'zod';
import type { ExportLinkPlace, ExportPlace } from '../../protocol/queries.js';
import { fail, ok, type Result } from '../../protocol/result.js';

/** Where the next page of an export begins. */
export interface ExportCursor {
  /** The last memory so far. */
  readonly memory: ExportPlace;
  /** The last link so far, when those of the memories so far are not all out yet. */
  readonly link: ExportLinkPlace | null;
}

const text = z.string().max(256);
const cursorSchema = z.union([
  z.tuple([text, text]).transform(([created_at, id]) => ({ memory: { created_at, id }, link: null })),
  z
    .tuple([text, text, text, text, text, text])
    .transform(([created_at, id, linkCreated, source, target_id, relation]) => ({
      memory: { created_at, id },
      link: { created_at: linkCreated, id: source, link: { target_id, relation } },
    })),
]);

/** The cursor as clients hold it: opaque, good for as long as they like. */
export function cursorText({ memory, link }: ExportCursor): string {
  const place = [memory.created_at, memory.id];
  if (link?.link) place.push(link.created_at, link.id, link.link.target_id, link.link.relation);
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** VALIDATION_FAILED for a text that is no cursor. */
export function parseCursor(cursor: string): Result<ExportCursor> {
  try {
    const parsed = cursorSchema.safeParse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    if (parsed.success) return ok(parsed.data);
  } catch {
    // Not JSON; answered below.
  }
  return fail('VALIDATION_FAILED', 'cursor is not one that an export has given', { fields: ['cursor'] });
}
