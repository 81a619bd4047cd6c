import { type Kind, wordsOf } from '../kinds/kind.js';
import { NO_REST } from '../kinds/payload.js';
import type { Remove, Write } from './mutations.js';
import { type Reading, subjectRow, tombstoneOf } from './reads.js';
import type { Row } from './rows.js';

/** The row of a record; null when there is no row. */
export function* recordRow<I extends object>(kind: Kind<I>, id: string): Reading<Row<I> | null> {
  return (yield* subjectRow({ kind: kind.name, id })) as Row<I> | null;
}

/** The write that stores a record: it replaces the row, or follows the removal of an earlier record. */
export function* putRecord<I extends object>(
  kind: Kind<I>,
  { id, namespace }: { readonly id: string; readonly namespace: string },
  image: I,
): Reading<Write<I>> {
  const subject = { kind: kind.name, id };
  const row = yield* recordRow(kind, id);
  const tombstone = row === null ? yield* tombstoneOf(subject) : null;
  return {
    mutation: 'write',
    ...subject,
    word: wordsOf(kind, 'image')[0]!,
    namespace,
    seen: row?.stamp.seen ?? tombstone?.seen ?? {},
    before: row?.image ?? null,
    image,
  };
}

/** The removal of a record; its tombstone replicates. */
export const dropRecord = <I extends object>(kind: Kind<I>, row: Row<I>, reason: string): Remove<I> => ({
  mutation: 'remove',
  kind: kind.name,
  word: wordsOf(kind, 'removal')[0]!,
  id: row.id,
  namespace: row.namespace,
  seen: row.stamp.seen,
  before: row.image,
  reason,
  facts: { rest: NO_REST },
  keepCopy: false,
});
