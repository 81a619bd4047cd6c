import { join } from 'node:path';
import type { Configuration } from '../node/config/load-settings.js';
import { PLACE_ROWS } from '../node/config/rows-places.js';

/** Settings that select the node of a command and have no flag. */
const BY_VARIABLE = ['home', 'keyDir'] as const;

/** The text before and after a command in another terminal, so that it reaches the same node. */
export interface SameNode {
  /** Assignments of variables, with a trailing space; empty when the defaults are enough. */
  readonly before: string;
  /** Flags, with a leading space; empty when the defaults are enough. */
  readonly after: string;
}

/** How a command reaches the node of a configuration from a terminal without its variables. */
export function sameNode({ settings, origins, file }: Configuration): SameNode {
  const variables = BY_VARIABLE.filter((key) => origins.get(key)?.source === 'environment').map(
    (key) => `${PLACE_ROWS[key].env}=${shellWord(settings[key])} `,
  );
  const skipped = file.state === 'skipped' ? 'SVC_NO_CONFIG=1 ' : '';
  const chosen = ['flag', 'environment'].includes(origins.get('dbPath')?.source ?? '');
  const db = chosen ? ` --db ${shellWord(settings.dbPath)}` : '';
  const otherFile = file.state !== 'skipped' && file.path !== join(settings.home, 'config.toml');
  const config = otherFile ? ` --config ${shellWord(file.path)}` : '';
  return { before: variables.join('') + skipped, after: db + config };
}

/** A word, quoted for a shell if necessary. */
export const shellWord = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A line for who is to start this program again later, where it may be gone then. */
export const passingProgram = (): readonly string[] =>
  /[\\/]_npx[\\/]/.test(process.argv[1] ?? '')
    ? [
        'this program runs from the cache of npx, which npm may empty: install it (npm install --global mnemesh)',
      ]
    : [];
