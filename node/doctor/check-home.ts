import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import { modeText, statOf } from '../config/file-modes.js';
import { looseHome } from '../config/loose-modes.js';
import { blockedBy } from './paths.js';
import type { SectionBuilder } from './report.js';

const OLDEST_UPGRADED = 49;

/** Checks the folder of a node. */
export function checkHome(home: string, section: SectionBuilder): void {
  const stat = statOf(home);
  if (stat === null) {
    const blocker = blockedBy(home);
    if (blocker === null)
      section.info('HOME_ABSENT', 'the home does not exist yet; the first start makes it');
    else section.crit('HOME_BLOCKED', `${blocker} is not a folder`, 'choose another SVC_HOME');
    return;
  }
  section.fact('home mode', modeText(stat));
  if (!stat.isDirectory()) {
    section.crit('HOME_BLOCKED', `${home} is not a folder`, 'choose another SVC_HOME');
  }
  const loose = looseHome(home);
  if (loose !== null) section.add(loose);
}

/** Checks that this release can use the schema of a database. */
export function checkSchema(version: number, database: string, section: SectionBuilder): void {
  if (version > SCHEMA_VERSION) {
    section.crit(
      'DB_SCHEMA_NEWER',
      `the database has schema ${version}, but this release knows only ${SCHEMA_VERSION}`,
      'install a newer release',
    );
  } else if (version > 0 && version < OLDEST_UPGRADED) {
    section.crit(
      'DB_SCHEMA_TOO_OLD',
      `schema ${version} is older than the oldest that this release upgrades (${OLDEST_UPGRADED})`,
      'open it with an intermediate release first',
    );
  } else if (version > 0 && version < SCHEMA_VERSION) {
    section.warn(
      'DB_SCHEMA_OLDER',
      `the database has schema ${version}; the next start upgrades it to ${SCHEMA_VERSION}`,
      `back up ${database}, then start the node`,
    );
  }
}
