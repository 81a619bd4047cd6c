/** Variables by name, as a process has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a value came from. */
export interface Origin {
  readonly source: 'flag' | 'environment' | 'file' | 'legacy' | 'default';
  /** The flag, variable or key; null for a default. */
  readonly name: string | null;
}

/** A value of a setting that was given, and where. */
export interface Found {
  readonly value: unknown;
  readonly origin: Origin;
}
