import { join } from 'node:path';
import type { Configuration } from '../node/config/load-settings.js';
import { PLACE_ROWS } from '../node/config/rows-places.js';

/** Settings that say which node a command talks to and have no flag. */
const BY_VARIABLE = ['home', 'keyDir'] as const;

/** What stands before and after a command that is typed in another terminal, so that it reaches this very node. */
export interface SameNode {
  /** Assignments of variables, with a blank behind; empty where the defaults do. */
  readonly before: string;
  /** Flags, with a blank before; empty where the defaults do. */
  readonly after: string;
}

/** How a command reaches the node of a configuration from a terminal that has none of its variables. */
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

/** A word as a shell takes it. */
export const shellWord = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
