import type { Viewer } from '../base/viewer.js';
import type { RecordIndex } from './kind.js';

/** The values of a member; a member ending in `?` may be null. */
export type LocalMember = 'text' | 'text?' | 'integer' | 'integer?' | 'number' | 'boolean';

/**
 * Rows of this node only: no log, no digest, no merge. The table and its indexes follow from the declaration when a
 * database is opened. A member that comes in a later release ends in `?`, because older tables get it without a value.
 */
export interface LocalKind<R extends object = object> {
  readonly name: string;
  readonly table: string;
  readonly key: readonly string[];
  /** True where the table numbers its rows: the key is one integer, and no number comes twice. */
  readonly numbered: boolean;
  readonly members: Readonly<Record<string, LocalMember>>;
  readonly indexes: readonly RecordIndex[];
  /** Whether a viewer may see a row. */
  isVisible(row: R, viewer: Viewer): boolean;
}

export function localKind<R extends object>(declared: {
  readonly name: string;
  /** The name when absent. */
  readonly table?: string;
  readonly key: readonly (keyof R & string)[];
  readonly numbered?: boolean;
  readonly members: { readonly [M in keyof R & string]-?: LocalMember };
  /** Each index is named after the table and its members. */
  readonly indexes?: readonly (readonly (keyof R & string)[])[];
  /** Shown only to who sees everything when absent. */
  readonly isVisible?: (row: R, viewer: Viewer) => boolean;
}): LocalKind<R> {
  const { name, key, members, table = name } = declared;
  return {
    ...{ name, table, key, members, numbered: declared.numbered ?? false },
    indexes: (declared.indexes ?? []).map((of) => ({ name: `${table}_by_${of.join('_')}`, members: of })),
    isVisible: declared.isVisible ?? ((_row, viewer) => viewer.all),
  };
}
