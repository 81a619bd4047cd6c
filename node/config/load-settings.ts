import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'smol-toml';
import { namespaceProblem } from '../../protocol/ids.js';
import { RECALL_LIMIT_MAX } from '../../protocol/limits.js';
import { TIERS } from '../../protocol/memory.js';
import { StartRefusedError } from '../../protocol/start-refused.js';
import { ageSeconds } from '../../protocol/time.js';
import { DEFAULTS, SETTINGS, type SettingRow, type Settings } from './settings.js';

/** The configuration cannot be used; the message says which setting and why, never its value when it is secret. */
export class ConfigError extends StartRefusedError {
  constructor(message: string) {
    super('CONFIG_INVALID', message);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

export interface ConfigSources {
  /** The process's environment unless given. */
  readonly env?: Environment;
  /** An explicit configuration file, which must exist. */
  readonly configPath?: string | undefined;
}

/**
 * The settings in force: flags over environment over configuration file over defaults, field by field (interface
 * §2.12). Throws ConfigError.
 */
export function loadSettings(flags: Partial<Settings> = {}, sources: ConfigSources = {}): Settings {
  const env = sources.env ?? process.env;
  const home = resolve(expandHome(flags.home ?? given(env['SVC_HOME']) ?? '~/.mnemesh'));
  const file = readConfigFile(home, env, sources.configPath);
  const settings: Record<string, unknown> = {
    ...DEFAULTS,
    home,
    dbPath: join(home, 'mnemesh.db'),
    keyDir: join(home, 'keys'),
  };
  for (const row of SETTINGS) {
    if (row.key === 'home') continue;
    const value = given(flags[row.key]) ?? fromEnvironment(row, env) ?? given(fromFile(row, file));
    if (value !== undefined) settings[row.key] = value;
  }
  return checked(settings as unknown as Settings);
}

/** An empty text configures nothing; above all, an empty API key is none. */
function given<T>(value: T): T | undefined {
  return value === '' ? undefined : value;
}

function expandHome(path: string): string {
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : path;
}

function readConfigFile(home: string, env: Environment, configPath?: string): Record<string, unknown> {
  if (env['SVC_NO_CONFIG'] === '1') return {};
  const explicit = configPath ?? given(env['SVC_CONFIG']);
  const path = explicit ?? join(home, 'config.toml');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && explicit === undefined) return {};
    throw new ConfigError(`cannot read the configuration file ${path}: ${code}`);
  }
  try {
    return parse(text) as Record<string, unknown>;
  } catch (error) {
    // The parser's message quotes the line, which may hold a key; its position does not.
    const { line, column } = error as { line?: number; column?: number };
    throw new ConfigError(
      `the configuration file ${path} is not valid TOML (line ${line}, column ${column})`,
    );
  }
}

function fromEnvironment(row: SettingRow, env: Environment): unknown {
  const text = row.env === undefined ? undefined : env[row.env];
  if (text === undefined || text === '') return undefined;
  const name = row.env as string;
  switch (row.type) {
    case 'integer':
      if (!/^-?\d{1,15}$/.test(text)) throw new ConfigError(`${name} must be an integer`);
      return Number(text);
    case 'boolean':
      return booleanOf(name, text);
    case 'list':
      return text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
    default:
      return text;
  }
}

function booleanOf(name: string, text: string): boolean {
  const word = text.trim().toLowerCase();
  if (['1', 'true', 'yes', 'on'].includes(word)) return true;
  if (['0', 'false', 'no', 'off'].includes(word)) return false;
  throw new ConfigError(`${name} must be 1 or 0`);
}

function fromFile(row: SettingRow, file: Record<string, unknown>): unknown {
  if (row.config === undefined) return undefined;
  let value: unknown = file;
  for (const part of row.config.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  if (value === undefined) return undefined;
  const fits = {
    text: typeof value === 'string',
    secret: typeof value === 'string',
    integer: Number.isSafeInteger(value),
    boolean: typeof value === 'boolean',
    list: Array.isArray(value) && value.every((item) => typeof item === 'string'),
  }[row.type];
  if (!fits) throw new ConfigError(`${row.config} in the configuration file must be ${row.type}`);
  return value;
}

function oneOf(name: string, value: string, allowed: readonly string[]): void {
  if (!allowed.includes(value)) throw new ConfigError(`${name} must be one of ${allowed.join(', ')}`);
}

function between(name: string, value: number, min: number, max: number): void {
  if (!(value >= min && value <= max)) throw new ConfigError(`${name} must be between ${min} and ${max}`);
}

function checkRecallScope(settings: Settings): void {
  const scope = 'agents.defaults.recall_scope';
  for (const namespace of settings.recallScopeNamespaces) {
    const problem = namespaceProblem(namespace);
    if (problem !== null) throw new ConfigError(`${scope}.namespaces: ${problem}`);
  }
  const { recallScopeSince: since, recallScopeTier: tier, recallScopeLimit: limit } = settings;
  if (since !== null && ageSeconds(since) === null) {
    throw new ConfigError(`${scope}.since must be an age such as 24h, 7d or 30m`);
  }
  if (tier !== null) oneOf(`${scope}.tier`, tier, TIERS);
  if (limit !== null) between(`${scope}.limit`, limit, 1, RECALL_LIMIT_MAX);
}

function checked(settings: Settings): Settings {
  oneOf('SVC_DB_SYNCHRONOUS', settings.synchronous, ['FULL', 'NORMAL', 'OFF']);
  oneOf('SVC_PROFILE', settings.profile, ['core', 'full']);
  oneOf('SVC_EMBED_BACKEND', settings.embedBackend, ['builtin', 'none']);
  oneOf('SVC_LOG_LEVEL', settings.logLevel, ['debug', 'info', 'warn', 'error', 'silent']);
  const problem = namespaceProblem(settings.defaultNamespace);
  if (problem !== null) throw new ConfigError(`storage.default_namespace: ${problem}`);
  between('port', settings.port, 0, 65_535);
  between('SVC_MAX_INFLIGHT_REQUESTS', settings.maxInflightRequests, 0, 1_000_000);
  between('SVC_MAX_PAGE_SIZE', settings.pageSizeMax, 1, 100_000);
  between('SVC_OBSERVATIONS_TTL_DAYS', settings.observationsTtlDays, 0, 3650);
  checkRecallScope(settings);
  if (settings.requireApiKey && settings.apiKey === null) {
    throw new ConfigError('SVC_REQUIRE_API_KEY is set, but no API key is configured');
  }
  // A wildcard would make everybody an admin; identities are listed one by one (interface §5.4).
  return {
    ...settings,
    adminAgentIds: settings.adminAgentIds.filter((id) => !id.includes('*')),
    ...(settings.dbPath === ':memory:' ? {} : { dbPath: resolve(expandHome(settings.dbPath)) }),
  };
}
