import { dirname, join, resolve } from 'node:path';
import { agentIdProblem } from '../../protocol/base/ids.js';
import { StartRefusedError } from '../../protocol/base/start-refused.js';
import { stderrLog } from '../log.js';
import { type ConfigFile, readConfigFile } from './config-file.js';
import type { ConfigProblem } from './config-problem.js';
import { encryptionProblems } from './encryption.js';
import { meshProblems } from './mesh-problems.js';
import { modelProblems } from './model-problems.js';
import { vendorOf } from './model-vendors.js';
import { absolutePath, realPath } from './paths.js';
import { PLACE_ROWS } from './rows-places.js';
import { Secret } from './secret.js';
import type { Environment, Origin } from './setting-origin.js';
import { findValue, given } from './setting-value.js';
import { defaultsIn, SETTINGS, type Settings } from './settings.js';
import { takeStoreUrl } from './store-url.js';
import { readStoredQuorum } from './stored-quorum.js';

/** The configuration cannot be used; the message says which setting and why, never its value when it is secret. */
export class ConfigError extends StartRefusedError {
  constructor(message: string) {
    super('CONFIG_INVALID', message);
  }
}

/** Settings that a caller gives directly; a secret may come as plain text. */
export type SettingFlags = Partial<Omit<Settings, 'apiKey' | 'storeUrl'>> & {
  readonly apiKey?: Secret | string | null;
  readonly storeUrl?: Secret | string | null;
};

export interface ConfigSources {
  /** The process's environment unless given. */
  readonly env?: Environment;
  /** An explicit configuration file, which must exist. */
  readonly configPath?: string | undefined;
  /** Receives the problems that are not fatal; by default each is written to standard error once per process. */
  readonly report?: (problem: ConfigProblem, logLevel: string) => void;
}

/** A configuration, valid or not. */
export interface Configuration {
  /** The values in force; a refused value is replaced by the next source or the default. */
  readonly settings: Settings;
  readonly origins: ReadonlyMap<keyof Settings, Origin>;
  readonly file: Pick<ConfigFile, 'path' | 'state' | 'values'>;
  readonly problems: readonly ConfigProblem[];
  /** Variables of the environment that begin with SVC_. */
  readonly variables: readonly string[];
  /** Folders in which programs are searched by name (PATH). */
  readonly searchPath: string;
}

/**
 * The settings in force: flags over environment over configuration file over legacy fields over defaults, field by
 * field (interface §2.12). The quorum of `mesh init` and `mesh join` is a default of this node. Throws ConfigError for the first fatal problem; reports the others.
 */
export function loadSettings(flags: SettingFlags = {}, sources: ConfigSources = {}): Settings {
  const { settings, problems } = inspectConfiguration(flags, sources);
  const report = sources.report ?? reportOnce;
  const fatal = problems.find((problem) => problem.level === 'fatal');
  for (const problem of problems) if (problem.level !== 'fatal') report(problem, settings.logLevel);
  if (fatal !== undefined) throw new ConfigError(`${fatal.message}; ${fatal.fix}`);
  return settings;
}

/** The value of a variable that an argument names; null when it is not set or empty. */
export const variableOf = (name: string): string | null => given(process.env[name]) ?? null;

/** The environment of this process with further variables, for a program that it starts for its user. */
export const environmentWith = (added: Readonly<Record<string, string>>): Environment => ({
  ...process.env,
  ...added,
});

/** The configuration and all its problems; never throws. */
export function inspectConfiguration(flags: SettingFlags = {}, sources: ConfigSources = {}): Configuration {
  const env = sources.env ?? process.env;
  const problems: ConfigProblem[] = [];
  const { env: homeVariable, default: usualHome } = PLACE_ROWS.home;
  const home = realPath(absolutePath(flags.home ?? given(env[homeVariable]) ?? usualHome));
  const named = sources.configPath ?? given(env['SVC_CONFIG']);
  const explicit = named === undefined ? undefined : absolutePath(named);
  const file = readConfigFile(home, explicit, env['SVC_NO_CONFIG'] === '1');
  problems.push(...file.problems);
  const settings: Record<string, unknown> = { ...defaultsIn(home) };
  const origins = new Map<keyof Settings, Origin>();
  for (const row of SETTINGS) {
    const found =
      row.key === 'home' ? null : findValue(row, flags[row.key], env, file, (p) => problems.push(p));
    if (found !== null) settings[row.key] = found.value;
    origins.set(row.key, found?.origin ?? { source: 'default', name: null });
  }
  if (origins.get('quorumWrites')?.source === 'default') {
    const writes = readStoredQuorum(home, (problem) => problems.push(problem));
    if (writes !== null) {
      settings['quorumWrites'] = writes;
      origins.set('quorumWrites', { source: 'mesh', name: 'mesh/quorum.json' });
    }
  }
  if (flags.home !== undefined) origins.set('home', { source: 'flag', name: 'home' });
  else if (given(env[homeVariable]) !== undefined) {
    origins.set('home', { source: 'environment', name: homeVariable });
  }
  nativeByAddress(settings, origins, 'embed');
  nativeByAddress(settings, origins, 'llm');
  for (const [backend, key] of VENDOR_KEYS) vendorKey(settings, env, origins, backend, key);
  takeStoreUrl(settings, origins, problems);
  settings['hooksPath'] = join(dirname(resolve(file.path)), 'hooks.toml');
  settings['hookEnvironment'] = hookEnvironment(env);
  const completed = complete(settings as unknown as Settings, problems, origins);
  const variables = Object.keys(env).filter((name) => name.startsWith('SVC_'));
  const searchPath = env['PATH'] ?? '';
  return { settings: completed, origins, file, problems, variables, searchPath };
}

/** An address of a model from before the sections names a service of the local-native shape. */
function nativeByAddress(
  settings: Record<string, unknown>,
  origins: Map<keyof Settings, Origin>,
  of: 'embed' | 'llm',
): void {
  const address = origins.get(`${of}BaseUrl`);
  if (address?.source !== 'legacy' || origins.get(`${of}Backend`)?.source !== 'default') return;
  settings[`${of}Backend`] = 'local-native';
  origins.set(`${of}Backend`, { source: 'legacy', name: address.name });
}

/** Each key of a model, with the backend whose vendor it may belong to. */
const VENDOR_KEYS = [
  ['embedBackend', 'embedApiKey'],
  ['llmBackend', 'llmApiKey'],
  ['autoTagBackend', 'autoTagApiKey'],
] as const;

/** The key in a vendor's own variable comes after the variable of the setting and before its section (reference-mcp-cli §4). */
function vendorKey(
  settings: Record<string, unknown>,
  env: Environment,
  origins: Map<keyof Settings, Origin>,
  backend: keyof Settings,
  setting: keyof Settings,
): void {
  const names = vendorOf(String(settings[backend]))?.keyVariables ?? [];
  const name = names.find((variable) => given(env[variable]) !== undefined);
  const { source } = origins.get(setting)!;
  if (name === undefined || source === 'environment' || source === 'flag') return;
  settings[setting] = new Secret(given(env[name])!);
  origins.set(setting, { source: 'environment', name });
}

/** What programs of hooks get of the environment: where things are, the user, the language and the time zone. */
const HOOK_VARIABLES: ReadonlySet<string> = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'LC_CTYPE'],
]);

const hookEnvironment = (env: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      HOOK_VARIABLES.has(name) && value !== undefined ? [[name, value]] : [],
    ),
  );

/** Applies the rules that concern several settings and makes paths absolute. */
function complete(
  settings: Settings,
  problems: ConfigProblem[],
  origins: ReadonlyMap<keyof Settings, Origin>,
): Settings {
  if (settings.requireApiKey && settings.apiKey === null) {
    problems.push({
      code: 'CONFIG_API_KEY_MISSING',
      level: 'fatal',
      message: 'SVC_REQUIRE_API_KEY is set, but no API key is configured',
      fix: 'set SVC_API_KEY, or api_key in the configuration file',
    });
  }
  problems.push(...encryptionProblems({ ...settings, ...pathsOf(settings) }, origins));
  problems.push(...modelProblems(settings));
  problems.push(...meshProblems(settings));
  return {
    ...settings,
    ...pathsOf(settings),
    requireAttestationEverywhere:
      settings.requireAttestation && origins.get('requireAttestation')?.source !== 'default',
    adminAgentIds: settings.adminAgentIds.filter((id) => isAdminId(id, problems)),
  };
}

/** The paths by which processes know that they have the same node: one place has one spelling. */
const IDENTITY: ReadonlySet<string> = new Set(['home', 'dbPath', 'keyDir']);

/** The settings that are paths, made absolute. */
function pathsOf(settings: Settings): Partial<Settings> {
  return Object.fromEntries(
    SETTINGS.filter((row) => row.type === 'path').map((row) => {
      const path = settings[row.key] as string | null;
      if (path === null || path === row.asIs) return [row.key, path];
      const absolute = absolutePath(path);
      return [row.key, IDENTITY.has(row.key) ? realPath(absolute) : absolute];
    }),
  );
}

/** A wildcard would make every caller an admin, so identities are listed one by one (interface §5.4). */
function isAdminId(id: string, problems: ConfigProblem[]): boolean {
  if (id.includes('*')) {
    problems.push({
      code: 'CONFIG_ADMIN_WILDCARD',
      level: 'warning',
      message: `the wildcard ${quoted(id)} among the admin ids is ignored: admins are listed one by one`,
      fix: 'list each admin in [admin] agent_ids or SVC_ADMIN_AGENT_IDS',
    });
    return false;
  }
  if (agentIdProblem(id) === null) return true;
  problems.push({
    code: 'CONFIG_ADMIN_INVALID',
    level: 'warning',
    message: `${quoted(id)} among the admin ids is not a valid agent id and is ignored`,
    fix: 'correct [admin] agent_ids or SVC_ADMIN_AGENT_IDS',
  });
  return false;
}

/** Text that looks like an id may be shown; anything else may be a secret pasted into the wrong place. */
const quoted = (id: string) => (/^[\w:@./*-]{1,64}$/.test(id) ? `"${id}"` : 'an entry');

const reported = new Set<string>();

function reportOnce({ code, level, message, fix }: ConfigProblem, logLevel: string): void {
  if (reported.has(message)) return;
  reported.add(message);
  stderrLog(logLevel)[level === 'warning' ? 'warn' : 'error']({ code, fix }, message);
}

/** The environment for programs that a command starts, and for the proxy of downloads. */
export const inheritedEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env });
