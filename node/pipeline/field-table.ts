/** What surfaces need to know of a field before a call. */
export interface FieldFacts {
  /** The JSON types that it accepts. */
  readonly types: readonly string[];
  /** The types of its items, where it takes a list of some. */
  readonly items?: readonly string[];
  /** True when it has no default and may not be absent. */
  readonly required?: true;
}

/**
 * The facts of the fields of every operation, by its name. The build fills the table, because schemas tell them slowly
 * (`cli/dev/generated-tables.mjs`).
 */
export const FIELD_TABLE: Readonly<Record<string, Readonly<Record<string, FieldFacts>>>> = {};
