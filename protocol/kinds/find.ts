import type { Ask } from '../base/ask.js';
import type { Viewer } from '../base/viewer.js';
import type { LocalKind } from './local-kind.js';
import type { Payload } from './payload.js';

/** A value that a find compares. */
export type FindValue = string | number | null;

/** A condition on a member: equal to a value, in or not in a list of values, or within a range. */
export type Condition =
  | FindValue
  | { readonly in: readonly FindValue[] }
  | { readonly notIn: readonly FindValue[] }
  | {
      readonly from?: FindValue;
      readonly after?: FindValue;
      readonly to?: FindValue;
      readonly before?: FindValue;
    };

export type Where = Readonly<Record<string, Condition>>;

/** Rows of a kind, in the order of a member and then of their key. The engine refuses an order without an index. */
export interface Find {
  /** The name of a record kind or of a local kind. */
  readonly of: string;
  readonly where?: Where;
  /** Defaults to the order of the key. */
  readonly order?: { readonly by: string; readonly descending?: boolean };
  /** The place of the last row of the page before: the value of the order's member, then the key. */
  readonly after?: readonly FindValue[];
  /** How many rows are left out at the beginning. */
  readonly skip?: number;
  readonly limit: number;
  /** The members that are read, when the others are long. */
  readonly only?: readonly string[];
  /** Leaves out rows that cannot be read; otherwise such a row fails the find. */
  readonly skipDamaged?: boolean;
}

/** The rows of a kind that show to a viewer; all of them for the node itself, which is null. */
export interface FindRecords extends Find {
  readonly kind: 'find-records';
  readonly viewer: Viewer | null;
  readonly now: string;
}

export interface FindQueries {
  readonly 'find-records': Ask<FindRecords, FoundRecords>;
}

export interface FoundRecords {
  readonly rows: readonly object[];
  /** Where the next page begins; null at the end. */
  readonly next: readonly FindValue[] | null;
}

/** The rows of an answer, as their kind declares them. */
export const rowsOf = <R extends object>(
  _kind: { readonly payload: Payload<R> } | LocalKind<R>,
  { rows }: FoundRecords,
): readonly R[] => rows as readonly R[];
