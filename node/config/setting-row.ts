import type { Secret } from './secret.js';

/** A flag of the command line that gives a setting. */
export interface SettingFlag {
  /** With its dashes. */
  readonly name: string;
  /** The commands that take it. */
  readonly of: 'every' | 'serve' | 'mcp';
  /** What stands for the value in help, where the type of the setting does not say it. */
  readonly value?: string;
  /** Where a number is not held against the bounds of the row before the settings are loaded. */
  readonly form?: { readonly match: RegExp; readonly problem: string };
  /** The line in help; `{env}` and `{default}` stand for those of the row. */
  readonly doc: string;
}

interface Row<Type extends string, Written> {
  readonly type: Type;
  /** As the operator would write it; null for nothing. A function makes it from the path of the home. */
  readonly default: Written | null | ((home: string) => Written);
  readonly flag?: SettingFlag;
  /** Environment variable. */
  readonly env?: string;
  /** Dotted key in the configuration file. */
  readonly config?: string;
  /** Another key for the same, which counts where the first is absent. */
  readonly configAlias?: string;
  /** Top-level field of the flat files of before schema version 2. */
  readonly legacy?: string;
  /** For a secret: the section whose `api_key_env` or `api_key_file` says where the key is. */
  readonly secretSection?: string;
  /** Unit of what the operator writes. */
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  readonly oneOf?: readonly string[];
  /** For a path: the word that names no file and stays as it is. */
  readonly asIs?: string;
  /** What is wrong with a value, without quoting it; null for a good one. */
  readonly check?: (value: string) => string | null;
  /** From what the operator writes to what the program holds. */
  readonly convert?: (value: number) => number | null;
  /** The default as the documentation says it; the value itself unless given. */
  readonly defaultDoc?: string;
  readonly doc: string;
}

/**
 * A setting: its type in the program, its default, and everything that reads, documents or shows it come from this row
 * (conventions §13). A `path` is a text that is made absolute.
 */
export type SettingRow =
  | Row<'text' | 'path', string>
  | Row<'integer', number>
  | Row<'boolean', boolean>
  | Row<'list', readonly string[]>
  | Row<'secret', never>;

/** Settings that belong together, by the name that the program has for each. */
export type SettingRows = Readonly<Record<string, SettingRow>>;

interface Plain {
  readonly text: string;
  readonly path: string;
  readonly integer: number;
  readonly boolean: boolean;
  readonly list: readonly string[];
  readonly secret: Secret;
}

type ValueOf<R extends SettingRow> = R extends { readonly convert: (value: number) => infer Held }
  ? Held
  : R extends { readonly oneOf: readonly (infer Choice)[] }
    ? Choice
    : Plain[R['type']];

type NullOf<R extends SettingRow> = null extends R['default'] ? null : never;

/** What the program holds for rows: a setting without a default may be null. */
export type SettingsOf<Rows> = {
  readonly [Key in keyof Rows]: Rows[Key] extends SettingRow ? ValueOf<Rows[Key]> | NullOf<Rows[Key]> : never;
};

/** What the program holds where nothing is configured and the home is this folder. */
export function defaultOf(row: SettingRow, home: string): unknown {
  const written = typeof row.default === 'function' ? row.default(home) : row.default;
  return typeof written === 'number' && row.convert !== undefined ? row.convert(written) : written;
}
