import { platform } from 'node:os';
import { join } from 'node:path';
import type { Table } from './config-table.js';
import { userFolder } from './paths.js';
import { findValue } from './setting-value.js';
import { SETTINGS } from './settings.js';

/** Clients whose configuration may start this program, and the path of that configuration in the user's folder. */
export const CLIENT_FILES: Readonly<Record<string, string>> = {
  'claude-code': '.claude.json',
  'claude-desktop':
    platform() === 'darwin'
      ? 'Library/Application Support/Claude/claude_desktop_config.json'
      : platform() === 'win32'
        ? 'AppData/Roaming/Claude/claude_desktop_config.json'
        : '.config/Claude/claude_desktop_config.json',
  cursor: '.cursor/mcp.json',
  windsurf: '.codeium/windsurf/mcp_config.json',
  'gemini-cli': '.gemini/settings.json',
};

export const CLIENTS = Object.keys(CLIENT_FILES);

export const clientConfigPath = (client: string): string => join(userFolder(), CLIENT_FILES[client]!);

/** What cleaning a client's configuration does. */
export interface CleanedClient {
  /** Null when nothing changes. */
  readonly text: string | null;
  /** Variables that repeated the configuration file and were removed. */
  readonly removed: readonly string[];
  /** Variables that differ from the file; they are kept and still override it. */
  readonly differing: readonly string[];
  /** Variables that hold a key in plain text. */
  readonly secrets: readonly string[];
}

/**
 * Removes from a client's JSON configuration the variables of this program's entries that repeat
 * the configuration file. Nothing else is touched. Throws SyntaxError when the text is not JSON.
 */
export function cleanClient(text: string, values: Table): CleanedClient {
  const config: unknown = JSON.parse(text);
  const found = { removed: new Set<string>(), differing: new Set<string>(), secrets: new Set<string>() };
  for (const entry of ownEntries(config)) {
    const env = entry['env'];
    if (!isObject(env)) continue;
    for (const [name, value] of Object.entries(env)) {
      const row = SETTINGS.find((candidate) => candidate.env === name);
      if (row === undefined || typeof value !== 'string') continue;
      if (row.type === 'secret') {
        found.secrets.add(name);
        continue;
      }
      const quiet = () => undefined;
      const file = { path: '', state: 'read', values, problems: [] } as const;
      const here = findValue(row, undefined, { [name]: value }, { ...file, values: {} }, quiet);
      const there = findValue(row, undefined, {}, file, quiet);
      if (there === null || here === null) continue;
      if (JSON.stringify(here.value) === JSON.stringify(there.value)) {
        delete env[name];
        found.removed.add(name);
      } else {
        found.differing.add(name);
      }
    }
    if (found.removed.size > 0 && Object.keys(env).length === 0) delete entry['env'];
  }
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? 2;
  return {
    text: found.removed.size === 0 ? null : `${JSON.stringify(config, null, indent)}\n`,
    removed: [...found.removed],
    differing: [...found.differing],
    secrets: [...found.secrets],
  };
}

/** The entries that start this program, of every `mcpServers` at any depth. */
function* ownEntries(value: unknown): Generator<Record<string, unknown>> {
  if (!isObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    if (key !== 'mcpServers' || !isObject(member)) {
      yield* ownEntries(member);
      continue;
    }
    for (const entry of Object.values(member)) {
      if (isObject(entry) && startsThisProgram(entry)) yield entry;
    }
  }
}

function startsThisProgram(entry: Record<string, unknown>): boolean {
  const args = Array.isArray(entry['args']) ? entry['args'] : [];
  return [entry['command'], ...args].some(
    (word) => typeof word === 'string' && /(^|[\\/])mnemesh(\.cmd|[\\/].*main\.js)?$/.test(word),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
