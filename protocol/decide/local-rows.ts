import type { Find, FindValue, Where } from '../kinds/find.js';
import type { LocalKind } from '../kinds/local-kind.js';
import { defineMutation, type Mutation } from './mutations.js';
import { defineRead, type Reading } from './reads.js';

/** Rows of a local kind. */
export const localRowsOf = defineRead<Find, readonly object[]>('local-rows');
/** How many rows of a local kind meet conditions; `max` at most. */
export const localRowCount = defineRead<
  { readonly of: string; readonly where: Where; readonly max: number | null },
  number
>('count-local-rows');
/** The last number that a numbered local kind gave, also when its row is gone. */
export const lastNumberOf = defineRead<{ readonly of: string }, number>('last-number');

/** Writes a row of a local kind whole. */
export const putLocalRow = defineMutation<{ readonly of: string; readonly row: object }>('put-row');
/** Gives members of all rows that meet conditions one value each. */
export const changeLocalRows = defineMutation<{
  readonly of: string;
  readonly where: Where;
  readonly set: Readonly<Record<string, FindValue>>;
}>('change-rows');
export const dropLocalRows = defineMutation<{ readonly of: string; readonly where: Where }>('drop-rows');

/** The rows of a local kind, as the rules read them. */
export function* localRows<R extends object>(
  kind: LocalKind<R>,
  find: Omit<Find, 'of'>,
): Reading<readonly R[]> {
  return (yield* localRowsOf({ of: kind.name, ...find })) as readonly R[];
}

/** The first row that meets the conditions; null where there is none. */
export function* localRow<R extends object>(kind: LocalKind<R>, where: Where): Reading<R | null> {
  return (yield* localRows(kind, { where, limit: 1 }))[0] ?? null;
}

/** How many rows meet the conditions; `max` at most. */
export function* countLocalRows(
  kind: LocalKind<never>,
  where: Where = {},
  max: number | null = null,
): Reading<number> {
  return yield* localRowCount({ of: kind.name, where, max });
}

/** Adds a row that the table numbers. */
export const addRow = <R extends object, N extends keyof R>(
  kind: LocalKind<R>,
  _number: N,
  row: Omit<R, N>,
): Mutation => putLocalRow({ of: kind.name, row });

/** Writes a row whole. */
export const putRow = <R extends object>(kind: LocalKind<R>, row: R): Mutation =>
  putLocalRow({ of: kind.name, row });

/** Gives members of all rows that meet the conditions one value each. */
export const changeRows = <R extends object>(
  kind: LocalKind<R>,
  where: Where,
  set: { readonly [M in keyof R]?: R[M] & FindValue },
): Mutation => changeLocalRows({ of: kind.name, where, set: set as Readonly<Record<string, FindValue>> });

export const dropRows = (kind: LocalKind<never>, where: Where): Mutation =>
  dropLocalRows({ of: kind.name, where });
