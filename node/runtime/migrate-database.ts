import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { type Moved, type MoveOptions, moveDatabase } from '../../storage/open/move-database.js';
import type { DatabasePlace } from '../../storage/open/open.js';
import { absolutePath } from '../config/paths.js';
import { Secret } from '../config/secret.js';
import type { Settings } from '../config/settings.js';
import { databaseName, storeUrlProblem } from '../config/store-url.js';
import { systemClock, systemRandom } from '../seams.js';
import { placeOf } from '../threads/open-database.js';

export type MigrateOptions = Pick<MoveOptions, 'batchRows' | 'dryRun' | 'step'>;

/** A copy of a database, and how its two sides are called. */
export interface Migrated extends Moved {
  readonly from: string;
  readonly to: string;
}

/** Copies a database; null is the one of the settings. */
export function migrateDatabase(
  settings: Settings,
  from: string | null,
  to: string | null,
  options: MigrateOptions,
): Result<Migrated> {
  const [source, target] = [sideOf(settings, from, 'from'), sideOf(settings, to, 'to')];
  if (!source.ok) return failed(source.error);
  if (!target.ok) return failed(target.error);
  if (source.value.name === target.value.name)
    return fail('VALIDATION_FAILED', '--from and --to name the same database', { fields: ['from', 'to'] });
  const moved = moveDatabase(source.value.place, target.value.place, {
    ...options,
    source: source.value.name,
    nowMs: systemClock.nowMs(),
    freshToken: Buffer.from(systemRandom.bytes(8)).toString('hex'),
  });
  if (!moved.ok) return failed(moved.error);
  return ok({ ...moved.value, from: source.value.name, to: target.value.name });
}

interface Side {
  readonly place: DatabasePlace;
  /** Without a password. */
  readonly name: string;
}

/** `sqlite:///path`, a path, or the address of a server. */
function sideOf(settings: Settings, text: string | null, flag: 'from' | 'to'): Result<Side> {
  if (text === null) return ok({ place: placeOf(settings), name: databaseName(settings) });
  const refused = (why: string) => fail('VALIDATION_FAILED', `--${flag} ${why}`, { fields: [flag] });
  const given = { ...settings, storeUrl: null as Secret | null };
  if (/^postgres(ql)?:/.test(text)) {
    const problem = storeUrlProblem(text);
    if (problem !== null) return refused(problem);
    given.storeUrl = new Secret(text);
  } else {
    const path = text.replace(/^sqlite:\/\//, '');
    if (path === '' || path === ':memory:' || /^[a-z]+:\/\//.test(path))
      return refused('must be a path, sqlite:///path, or postgres://user@host:5432/name');
    given.dbPath = absolutePath(path);
  }
  return ok({ place: placeOf(given), name: databaseName(given) });
}
