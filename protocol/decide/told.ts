import type { MemoryId } from '../base/meanings.js';

/** The hook events that tell of a committed command. */
export type ToldEvent =
  | 'post_transcript_store'
  | 'post_store'
  | 'post_delete'
  | 'post_promote'
  | 'post_link'
  | 'post_consolidate'
  | 'post_reflect'
  | 'on_compaction_rollback';

/** What hooks hear of a command, as plain data. Rows are read when it is told, as the caller of the command sees them. */
export type Told =
  /** A memory that it wrote, whole. */
  | { readonly memory: MemoryId }
  /** The answer of `create-link`, with what this node believes of the signature of the link. */
  | { readonly linked: object }
  | { readonly namespace: string; readonly payload: Readonly<Record<string, unknown>> };

/** A command that was committed. */
export interface Committed<C, T> {
  readonly command: C;
  readonly outcome: T;
}

/** What each event tells of a committed command, in the order in which hooks hear it. */
export type Tells<C, T> = {
  readonly [E in ToldEvent]?: (committed: Committed<C, T>) => readonly Told[];
};
