import { z } from 'zod';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { FindRecords, FindValue, Where } from '../../../protocol/kinds/find.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import type { Kind } from '../../../protocol/kinds/kind.js';
import type { ReadCall } from '../../pipeline/call.js';
import { listEnd } from '../../pipeline/fields.js';

/** A place in a list: the value of the member that orders it, and the id of the record. */
type Place = readonly [at: string, id: string];

const MARK_LENGTH_MAX = 8192;

/** The mark of a page, which only the answer before can give. */
export const afterMark = z
  .string()
  .max(MARK_LENGTH_MAX)
  .transform((text, context) => {
    const place = placeOf(text);
    if (place !== null) return place;
    context.addIssue({
      code: 'custom',
      message: 'is not the mark of a page: use "next" of the answer before',
    });
    return z.NEVER;
  })
  .describe('The "next" of the page before');

/** How a page says that there are more. */
export const pageEnd = {
  next: z.string().optional().describe('There are more: give this as "after"'),
  ...listEnd,
} as const;

function placeOf(text: string): Place | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    const [at, id] = Array.isArray(value) && value.length === 2 ? (value as unknown[]) : [];
    return typeof at === 'string' && typeof id === 'string' ? [at, id] : null;
  } catch {
    return null;
  }
}

/** The mark of the page after a place. */
export const markOf = (place: readonly FindValue[]): string =>
  Buffer.from(JSON.stringify(place), 'utf8').toString('base64url');

/** One list of records, by the instant of a member. */
export interface Listing<I extends object> {
  readonly kind: Kind<I>;
  /** Each is one look; a record that several find is listed once. */
  readonly any: readonly Where[];
  readonly by: keyof I & string;
  readonly descending: boolean;
  readonly after: Place | undefined;
  readonly limit: number;
  readonly idOf: (image: I) => string;
}

export interface Listed<I> {
  readonly rows: readonly I[];
  readonly next: string | undefined;
}

/** The member of an answer that says where it goes on. */
export const nextOf = ({ next }: Pick<Listed<unknown>, 'next'>) => (next === undefined ? {} : { next });

/** A page of the records that the caller sees. */
export async function listed<I extends object>(
  { services, caller, now }: ReadCall,
  { kind, any, by, descending, after, limit, idOf }: Listing<I>,
): Promise<Result<Listed<I>>> {
  const found = new Map<string, { readonly at: string; readonly image: I }>();
  for (const where of any) {
    const asked: FindRecords = {
      ...{ kind: 'find-records', of: kind.name, where, order: { by, descending }, limit: limit + 1 },
      ...{ viewer: caller.viewer, now, skipDamaged: true },
      ...(after === undefined ? {} : { after }),
    };
    const page = await services.store.query(asked);
    if (!page.ok) return failed(page.error);
    for (const image of rowsOf(kind, page.value)) found.set(idOf(image), { at: String(image[by]), image });
  }
  const isBefore = (a: string, b: string) => (descending ? a > b : a < b);
  const all = [...found].sort(([a, { at }], [b, { at: other }]) => {
    if (at !== other) return isBefore(at, other) ? -1 : 1;
    return a < b ? -1 : 1;
  });
  const shown = all.slice(0, limit);
  const [id, last] = shown.at(-1) ?? [];
  const next = all.length > limit && last !== undefined ? markOf([last.at, id!]) : undefined;
  return ok({ rows: shown.map(([, { image }]) => image), next });
}
