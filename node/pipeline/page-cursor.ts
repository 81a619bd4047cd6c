import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { CURSOR_LENGTH_MAX } from '../../protocol/base/page-limits.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { ReadCall, ReadServices } from './call.js';
import { pageEnd } from './fields.js';

/** The input of a list with cursors. */
export const cursorField = z
  .string()
  .max(CURSOR_LENGTH_MAX)
  .describe('The next_cursor of the page before, with the same filter')
  .optional();

/** How the answer of a list with cursors ends. */
export const cursorEnd = {
  next_cursor: z.string().describe('There are more rows: give this as cursor').optional(),
} as const;

/** The same for a list that has offsets too. */
export const cursorPageEnd = { ...pageEnd, ...cursorEnd } as const;

/** Where a page ends: what orders the list, of its last row. */
type Place = readonly (string | number)[];

/** The input of such a list. A cursor is bound to all of it that does not say how much is shown, and how. */
interface Asked {
  readonly cursor?: string | undefined;
  readonly offset?: number;
  readonly limit: number;
  readonly format?: unknown;
}

/** Where a page begins, and how its answer says where the next one does. */
export interface PageCursor<P extends Place> {
  readonly after: P | undefined;
  /** `truncated`: the size ended the page before its limit; `nextOffset` counts from the row at which this page began. */
  readonly end: (page: { readonly next: P | null; readonly nextOffset: number | null }) => {
    readonly truncated?: true;
    readonly next_offset?: number;
    readonly next_cursor?: string;
  };
}

/** In the digest, so that a release that orders a list in another way refuses the cursors of an earlier one. */
const FORM = 'page-cursor/1';
const DIGEST_BYTES = 16;

/**
 * The cursor of a call. Nobody can make or change one: its digest, under a key of this node, covers the operation, the
 * filter and the place. It stays good after a restart, because the key follows from that of the machine.
 */
export function pageCursor<P extends Place>(
  { services }: ReadCall,
  operation: string,
  asked: Asked,
): Result<PageCursor<P>> {
  const { cursor, offset = 0, limit: _limit, format: _format, ...filter } = asked;
  const digestOf = (place: string) =>
    createHmac('sha256', keyOf(services))
      .update(canonicalJson([FORM, operation, filter, place]))
      .digest()
      .subarray(0, DIGEST_BYTES);
  const cursorOf = (place: P) => {
    const text = JSON.stringify(place);
    return `${Buffer.from(text).toString('base64url')}.${digestOf(text).toString('base64url')}`;
  };
  const after = cursor === undefined ? undefined : placeOf<P>(cursor, digestOf);
  if (after === null) {
    const message = 'cursor: is no next_cursor of this list with this filter; begin again without one';
    return fail('VALIDATION_FAILED', message, { fields: ['cursor'] });
  }
  if (after !== undefined && offset > 0) {
    return fail('VALIDATION_FAILED', 'offset: give either a cursor or an offset', { fields: ['offset'] });
  }
  return ok({
    after,
    end: ({ next, nextOffset }) => ({
      ...(nextOffset === null ? {} : { truncated: true as const }),
      // An offset counts from the first row of the list, where a cursor leads elsewhere.
      ...(nextOffset === null || after !== undefined ? {} : { next_offset: nextOffset }),
      ...(next === null ? {} : { next_cursor: cursorOf(next) }),
    }),
  });
}

/** The place in a cursor; null for one that this node did not give for the same question. */
function placeOf<P extends Place>(cursor: string, digestOf: (place: string) => Buffer): P | null {
  const [, place = '', digest = ''] = /^([\w-]+)\.([\w-]+)$/.exec(cursor) ?? [];
  const text = Buffer.from(place, 'base64url').toString('utf8');
  const given = Buffer.from(digest, 'base64url');
  const expected = digestOf(text);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  // Other letters may stand for the same bytes.
  if (cursor !== `${Buffer.from(text).toString('base64url')}.${expected.toString('base64url')}`) return null;
  return JSON.parse(text) as P;
}

const keys = new WeakMap<object, Uint8Array>();

/** Without a key of the machine, cursors are good until the process ends. */
function keyOf({ machineKey, crypto, random }: ReadServices): Uint8Array {
  const holder = machineKey ?? crypto;
  const known = keys.get(holder);
  if (known !== undefined) return known;
  // Ed25519 makes the same signature of the same bytes, and nobody else can make it.
  const made =
    machineKey === null ? random.bytes(32) : crypto.sha256(machineKey.sign(Buffer.from(`mnemesh ${FORM}`)));
  keys.set(holder, made);
  return made;
}
