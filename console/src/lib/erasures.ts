/** Where a memory was erased, by the ids of nodes. */
export interface Standing {
  readonly done: readonly string[];
  readonly missing: readonly string[];
  readonly outside: readonly string[];
}

/** How far an erasure is, in words. */
export function standingText({ done, missing }: Pick<Standing, 'done' | 'missing'>): string {
  if (missing.length === 0)
    return `gone on ${done.length === 1 ? 'the only node' : `all ${done.length} nodes`}`;
  return `gone on ${done.length} of ${done.length + missing.length} nodes`;
}

const COPIES: Readonly<Record<string, string>> = {
  backup: 'Backup',
  export: 'Export',
  snapshot: 'Snapshot of an upgrade or a restore',
};

/** What a file that may still hold erased memories is. */
export const copyText = (what: string): string => COPIES[what] ?? what;
