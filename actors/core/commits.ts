/** Says to one reader whether something may have been committed since it last asked. */
export type MayHaveChanged = () => boolean;

/** How the commits of all processes of a database are heard. */
export interface Commits {
  /** For a reader that looks often: it need not look where this says that nothing was committed. */
  reader(): MayHaveChanged;
}

/** Where nobody tells of a commit, each reader looks. */
export const UNHEARD: Commits = { reader: () => () => true };
