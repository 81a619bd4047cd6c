import type { ConfigProblem } from '../node/config/config-problem.js';
import { type ConfigSources, loadSettings, type SettingFlags } from '../node/config/load-settings.js';
import type { Settings } from '../node/config/settings.js';
import type { ParsedArguments } from './arguments.js';
import { type DocumentedFlag, PROGRAM } from './command.js';
import { settingFlag } from './setting-flags.js';
import { printable } from './views/text.js';

/** Flags that every command takes. */
export const GLOBAL_FLAGS: readonly DocumentedFlag[] = [
  settingFlag('dbPath'),
  settingFlag('storeUrl'),
  { name: 'config', kind: 'value', value: 'path', path: 'file', doc: 'Configuration file (SVC_CONFIG)' },
  settingFlag('agentId'),
  settingFlag('dbPassphraseFile'),
  { name: 'json', kind: 'switch', doc: 'Print the answer as one JSON document' },
  { name: 'help', short: 'h', kind: 'switch', doc: 'Show this help' },
];

/** The value of a flag; undefined when it is absent. */
export function flagValue(parsed: ParsedArguments, name: string): string | undefined {
  return parsed.flags.get(name)?.at(-1);
}

/**
 * The settings under a command's flags. Throws ConfigError. A problem that is not fatal is one plain line on standard
 * error; in the log of a server, and with an answer in JSON, it is a line of JSON.
 */
export function settingsFor(
  parsed: ParsedArguments,
  flags: SettingFlags = {},
  report: 'plain' | 'log' = 'plain',
): Settings {
  const [given, sources] = settingSources(parsed, flags);
  const plain = report === 'plain' && !isSet(parsed, 'json') && flagValue(parsed, 'format') !== 'json';
  return loadSettings(given, plain ? { ...sources, report: complainPlainly } : sources);
}

function complainPlainly({ level, message, fix }: ConfigProblem, logLevel: string): void {
  if (logLevel === 'silent' || (logLevel === 'error' && level === 'warning')) return;
  process.stderr.write(`${level}: ${printable(`${message}; ${fix}`)}\n`);
}

/** The sources of the configuration under a command's flags. */
export function settingSources(
  parsed: ParsedArguments,
  flags: SettingFlags = {},
): [SettingFlags, ConfigSources] {
  const dbPath = flagValue(parsed, 'db');
  const storeUrl = flagValue(parsed, 'store-url');
  const dbPassphraseFile = flagValue(parsed, 'db-passphrase-file');
  // Every user of the machine sees the words of a process, and an address may hold a password.
  if (storeUrl !== undefined) process.title = PROGRAM;
  const given = {
    ...flags,
    ...(dbPath === undefined ? {} : { dbPath }),
    ...(storeUrl === undefined ? {} : { storeUrl }),
    ...(dbPassphraseFile === undefined ? {} : { dbPassphraseFile }),
  };
  return [given, { configPath: flagValue(parsed, 'config') }];
}

/** True when a switch is given, and not as `--switch=false`. */
export function isSet(parsed: ParsedArguments, name: string): boolean {
  return flagValue(parsed, name) === 'true';
}

/** True when the words contain a switch, even if they do not parse. */
export function asksFor(words: readonly string[], ...switches: readonly string[]): boolean {
  const end = words.indexOf('--');
  const before = end === -1 ? words : words.slice(0, end);
  return before.some((word) => switches.includes(word.replace(/=true$/, '')));
}

const FORMAT_FLAGS: readonly string[] = ['--format', '--output-format'];

/** True when the answer, or the failure, must be one JSON document: `--json`, or `--format json` and `--output-format json`. */
export function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  const before = end === -1 ? words : words.slice(0, end);
  const named = before.some((word, index) => FORMAT_FLAGS.includes(word) && before[index + 1] === 'json');
  return named || asksFor(words, '--json', ...FORMAT_FLAGS.map((flag) => `${flag}=json`));
}
