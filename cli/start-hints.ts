import { join } from 'node:path';
import type { Configuration } from '../node/config/load-settings.js';
import { PLACE_ROWS } from '../node/config/rows-places.js';
import { hasPassword } from '../node/config/store-url.js';
import { fail, ok, type Result } from '../protocol/base/result.js';

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
  const server = serverWords({ settings, origins });
  const skipped = file.state === 'skipped' ? 'SVC_NO_CONFIG=1 ' : '';
  const chosen = ['flag', 'environment'].includes(origins.get('dbPath')?.source ?? '');
  const db = chosen ? ` --db ${shellWord(settings.dbPath)}` : '';
  const otherFile = file.state !== 'skipped' && file.path !== join(settings.home, 'config.toml');
  const config = otherFile ? ` --config ${shellWord(file.path)}` : '';
  return { before: variables.join('') + server.before + skipped, after: db + server.after + config };
}

/** How a command reaches the same database server; no word holds a password. */
function serverWords({ settings, origins }: Pick<Configuration, 'settings' | 'origins'>): SameNode {
  const { storeUrl, storeUrlFile } = settings;
  const { source, name } = origins.get('storeUrl') ?? { source: 'default', name: null };
  if (storeUrl === null || !['flag', 'environment'].includes(source)) return { before: '', after: '' };
  const { env } = PLACE_ROWS.storeUrlFile;
  if (name === env) return { before: `${env}=${shellWord(storeUrlFile!)} `, after: '' };
  if (hasPassword(storeUrl)) return { before: `${env}=<file with the address> `, after: '' };
  return { before: '', after: ` --store-url ${shellWord(storeUrl.reveal())}` };
}

/** What a file that starts this program again needs to reach the same server; a password would stand in it for all to read. */
export function keptServer({ settings, origins }: Pick<Configuration, 'settings' | 'origins'>): Result<{
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}> {
  const { storeUrl, storeUrlFile } = settings;
  const { source, name } = origins.get('storeUrl') ?? { source: 'default', name: null };
  if (storeUrl === null || !['flag', 'environment'].includes(source)) return ok({ words: [], env: {} });
  const { env } = PLACE_ROWS.storeUrlFile;
  if (name === env) return ok({ words: [], env: { [env]: storeUrlFile! } });
  if (!hasPassword(storeUrl)) return ok({ words: ['--store-url', storeUrl.reveal()], env: {} });
  const fix = `write the address into a file of mode 0600 and name it with ${env}`;
  return fail(
    'VALIDATION_FAILED',
    `the address of the database server has a password, which the file would show: ${fix}`,
    {
      fields: ['store_url'],
    },
  );
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
