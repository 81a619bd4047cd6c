/** The variables of a process by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a value came from. */
export interface Origin {
  readonly source: 'flag' | 'environment' | 'file' | 'legacy' | 'mesh' | 'default';
  /** The flag, variable or key; null for a default. */
  readonly name: string | null;
}

/** A given value of a setting and its source. */
export interface Found {
  readonly value: unknown;
  readonly origin: Origin;
}
