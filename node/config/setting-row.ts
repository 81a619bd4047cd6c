import type { Secret } from './secret.js';

/** A flag of the command line that gives a setting. */
export interface SettingFlag {
  /** With its dashes. */
  readonly name: string;
  /** The commands that take it. */
  readonly of: 'every' | 'serve' | 'mcp';
  /** The placeholder for the value in help; by default it follows from the type. */
  readonly value?: string;
  /** Words that completions offer, of which the value may hold several. */
  readonly suggestions?: readonly string[];
  /** How the text of a number must look, instead of the bounds of the row; the loader checks those. */
  readonly form?: { readonly match: RegExp; readonly problem: string };
  /** The line in help; `{env}` and `{default}` are replaced by those of the row. */
  readonly doc: string;
}

interface Row<Type extends string, Written> {
  readonly type: Type;
  /** As an operator would write it; null for no default. A function computes it from the path of the home. */
  readonly default: Written | null | ((home: string) => Written);
  readonly flag?: SettingFlag;
  /** Environment variable. */
  readonly env?: string;
  /** Dotted key in the configuration file. */
  readonly config?: string;
  /** Another key for the same setting, read when the first is absent. */
  readonly configAlias?: string;
  /** Top-level field in flat files, before schema version 2. */
  readonly legacy?: string;
  /** For a secret: the section whose `api_key_env` or `api_key_file` names its source. */
  readonly secretSection?: string;
  /** Unit in which the operator writes the value. */
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  readonly oneOf?: readonly string[];
  /** For a path: a word that is not a file name and is kept unchanged. */
  readonly asIs?: string;
  /** What is wrong with a value, without quoting it; null when it is valid. */
  readonly check?: (value: string) => string | null;
  /** For a list: the entries of the variable and of the file count together (interface §5.4). */
  readonly joined?: true;
  /** Turns the number that the operator writes into the value in the program. */
  readonly convert?: (value: number) => number | null;
  /** The default as the documentation says it; the value itself unless given. */
  readonly defaultDoc?: string;
  readonly doc: string;
}

/** Tables of the file, `[[key]]`, each read into a value. */
interface TablesRow extends Row<'tables', readonly unknown[]> {
  /** The value of a table, or what is wrong with it. */
  readonly parse: (table: Readonly<Record<string, unknown>>) => object | string;
  /** Where each table is a section of its own, `[key."name"]`: the member that holds its name. */
  readonly named?: string;
  /** Where each is an entry `"name" = [values]` of the section `[key]`: the member that holds the values. */
  readonly lists?: string;
}

/**
 * A setting. Its type in the program, its default, its readers and its documentation are all derived from this row
 * (conventions §13). A `path` is text that is made absolute.
 */
export type SettingRow =
  | Row<'text' | 'path', string>
  | Row<'integer' | 'number', number>
  | Row<'boolean', boolean>
  | Row<'list', readonly string[]>
  | Row<'secret', never>
  | TablesRow;

/** Settings that belong together, by their names in the program. */
export type SettingRows = Readonly<Record<string, SettingRow>>;

interface Plain {
  readonly text: string;
  readonly path: string;
  readonly integer: number;
  readonly number: number;
  readonly boolean: boolean;
  readonly list: readonly string[];
  readonly secret: Secret;
  readonly tables: readonly unknown[];
}

type ValueOf<R extends SettingRow> = R extends { readonly convert: (value: number) => infer Held }
  ? Held
  : R extends { readonly parse: (table: Readonly<Record<string, unknown>>) => infer Parsed }
    ? readonly Exclude<Parsed, string>[]
    : R extends { readonly oneOf: readonly (infer Choice)[] }
      ? Choice
      : Plain[R['type']];

type NullOf<R extends SettingRow> = null extends R['default'] ? null : never;

/** The object that the program holds for some rows; a setting without a default may be null. */
export type SettingsOf<Rows> = {
  readonly [Key in keyof Rows]: Rows[Key] extends SettingRow ? ValueOf<Rows[Key]> | NullOf<Rows[Key]> : never;
};

/** The value in the program when nothing is configured, for a home in this folder. */
export function defaultOf(row: SettingRow, home: string): unknown {
  const written = typeof row.default === 'function' ? row.default(home) : row.default;
  return typeof written === 'number' && row.convert !== undefined ? row.convert(written) : written;
}
