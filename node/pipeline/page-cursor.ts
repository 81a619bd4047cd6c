import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
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

/** Under the seal, so that a release that orders a list in another way refuses the cursors of an earlier one. */
const FORM = 'page-cursor/2';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** A place fills whole blocks, so that the length says nothing of the numbers in it. */
const BLOCK = 64;

/**
 * The cursor of a call. Nobody can read, make or change one: the place in it counts rows that its caller may not see, so it
 * is encrypted under a key of this node, and bound to the operation and the filter. It stays good after a restart, because
 * the key follows from that of the machine.
 */
export function pageCursor<P extends Place>(
  { services }: ReadCall,
  operation: string,
  asked: Asked,
): Result<PageCursor<P>> {
  const { cursor, offset = 0, limit: _limit, format: _format, ...filter } = asked;
  const seal = { key: keyOf(services), about: Buffer.from(canonicalJson([FORM, operation, filter])) };
  const cursorOf = (place: P) => sealed(JSON.stringify(place), seal);
  const after = cursor === undefined ? undefined : placeOf<P>(cursor, seal);
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

interface Seal {
  readonly key: Uint8Array;
  /** What a cursor is good for, which it does not contain. */
  readonly about: Uint8Array;
}

/** A place has one cursor, so that a page that did not change has one tag: its nonce follows from what is encrypted. */
function sealed(place: string, { key, about }: Seal): string {
  const padded = place.padEnd(Math.ceil(place.length / BLOCK) * BLOCK);
  const nonce = createHmac('sha256', key)
    .update(about)
    .update('\0')
    .update(padded)
    .digest()
    .subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(about);
  const text = Buffer.concat([cipher.update(padded, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url');
}

/** The place in a cursor; null for one that this node did not give for the same question. */
function placeOf<P extends Place>(cursor: string, { key, about }: Seal): P | null {
  const bytes = Buffer.from(cursor, 'base64url');
  // Other letters may stand for the same bytes.
  if (bytes.length <= NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== cursor) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(about).setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    return JSON.parse(text.toString('utf8')) as P;
  } catch {
    return null;
  }
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
