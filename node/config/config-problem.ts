/** Everything that can be wrong with a configuration; stable, `doctor` shows them. */
export type ConfigProblemCode =
  | 'CONFIG_FILE_UNREADABLE'
  | 'CONFIG_FILE_WRITABLE'
  | 'CONFIG_NOT_TOML'
  | 'CONFIG_SCHEMA_VERSION'
  | 'CONFIG_INLINE_API_KEY'
  | 'CONFIG_KEY_SOURCES'
  | 'CONFIG_KEY_ENV_UNSET'
  | 'CONFIG_KEY_FILE_MISSING'
  | 'CONFIG_KEY_FILE_MODE'
  | 'CONFIG_STORE_URL'
  | 'CONFIG_STORE_URL_FILE'
  | 'CONFIG_TWO_DATABASES'
  | 'CONFIG_PASSPHRASE_FILE'
  | 'CONFIG_NO_CIPHER'
  | 'CONFIG_KEY_FILE_UNREADABLE'
  | 'CONFIG_UNKNOWN_KEY'
  | 'CONFIG_KEY_NOT_READ'
  | 'CONFIG_LEGACY_FIELDS'
  | 'CONFIG_VALUE_INVALID'
  | 'CONFIG_API_KEY_MISSING'
  | 'CONFIG_ADMIN_WILDCARD'
  | 'CONFIG_ADMIN_INVALID'
  | 'CONFIG_MODEL_WITHOUT_BACKEND'
  | 'CONFIG_RERANKER_INCOMPLETE';

/** One thing that is wrong with a configuration. Neither text holds a value that could be secret. */
export interface ConfigProblem {
  readonly code: ConfigProblemCode;
  /** `fatal` refuses the start; after an `error` or a `warning` the node continues as the message says. */
  readonly level: 'fatal' | 'error' | 'warning';
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
}
