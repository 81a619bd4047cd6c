import { fail } from '../../protocol/base/result.js';
import type { Settings } from '../config/settings.js';

/** What takes the place of a command on files where the database is on a server. */
const INSTEAD = {
  backup: 'back it up with pg_dump, or with the archive of the server (point-in-time recovery)',
  restore: 'restore it with pg_restore, or to a point in time, on the server',
} as const;

/** The failure of a command that copies files; null where the database is one. */
export function refusedOnServer({ storeUrl }: Pick<Settings, 'storeUrl'>, command: keyof typeof INSTEAD) {
  if (storeUrl === null) return null;
  const why = `${command} copies files, and the database is on a server: ${INSTEAD[command]}`;
  return fail(
    'INVALID_ARGUMENT',
    `${why}; "export" and "migrate" copy what it holds. docs/postgres.md says more`,
  );
}
