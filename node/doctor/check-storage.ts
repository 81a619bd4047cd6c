import { existsSync, readdirSync, statfsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SCHEMA_VERSION } from '../../protocol/base/schema-version.js';
import { ROOM_WARN_SHARE } from '../../protocol/replication/room-limits.js';
import { diskTrouble } from '../../storage/disk-failure.js';
import { modeText, statOf } from '../config/file-modes.js';
import { looseDatabase } from '../config/loose-modes.js';
import type { Settings } from '../config/settings.js';
import { checkHome, checkSchema } from './check-home.js';
import type { DatabaseFacts, Inspection } from './database-facts.js';
import { blockedBy, existingFolder, isWritable, sizeText } from './paths.js';
import { type Section, SectionBuilder } from './report.js';

const FREE_CRITICAL_BYTES = 64 * 1024 * 1024;
const FREE_LOW_BYTES = 1024 * 1024 * 1024;
const WAL_LARGE_BYTES = 128 * 1024 * 1024;

/** Checks folders, disk, the database file and the files next to it. */
export function checkStorage(settings: Settings, inspection: Inspection | null): Section {
  const { home, dbPath } = settings;
  const section = new SectionBuilder('Storage').fact('home', home).fact('database', dbPath);
  checkHome(home, section);
  if (dbPath === ':memory:') {
    return section.info('DB_IN_MEMORY', 'the database is in memory and is lost when the process ends').done();
  }
  checkDisk(dirname(dbPath), section);
  const file = statOf(dbPath);
  if (file === null || inspection === null) {
    section.info('DB_ABSENT', 'there is no database yet; the first command or start makes it');
  } else {
    section.fact('size', sizeText(file.size)).fact('mode', modeText(file));
    const loose = looseDatabase(dbPath);
    if (loose !== null) section.add(loose);
    if (!isWritable(dbPath) && diskTrouble(dbPath) !== 'read-only') {
      section.crit(
        'DB_FILE_READ_ONLY',
        `${dbPath} cannot be written by this user`,
        `correct its owner or mode`,
      );
    }
    checkRoom(settings.storageMaxBytes, file.size, section);
    if (inspection.ok) checkFacts(inspection.facts, dbPath, section);
    else checkUninspectable(inspection.problem, dbPath, section);
  }
  checkSideFiles(dbPath, file !== null, section);
  return section.done();
}

/** A file that is larger than its limit has free pages, or holds more than may go. */
function checkRoom(maxBytes: number | null, fileBytes: number, section: SectionBuilder): void {
  if (maxBytes === null) return;
  section.fact('limit', sizeText(maxBytes));
  if (fileBytes < maxBytes * ROOM_WARN_SHARE) return;
  section.warn(
    'ROOM_LOW',
    `the file has ${sizeText(fileBytes)} of the ${sizeText(maxBytes)} that [storage] max_bytes allows: near it, memories go`,
    '"mnemesh room" shows which go first; raise the limit, or delete what is not needed',
  );
}

function checkDisk(folder: string, section: SectionBuilder): void {
  const blocker = blockedBy(folder);
  if (blocker !== null) {
    section.crit('DB_DIR_BLOCKED', `${blocker} is not a folder`, 'choose another SVC_DB');
    return;
  }
  const existing = existingFolder(folder);
  try {
    const disk = statfsSync(existing);
    const free = disk.bavail * disk.bsize;
    section.fact('free space', sizeText(free));
    const fix = 'make room, or move the database to a larger disk with SVC_DB';
    if (free < FREE_CRITICAL_BYTES) {
      section.crit(
        'DISK_FULL',
        `only ${sizeText(free)} are free; writes will soon fail with STORAGE_FULL`,
        fix,
      );
    } else if (free < FREE_LOW_BYTES) {
      section.warn('DISK_LOW', `only ${sizeText(free)} are free`, fix);
    }
  } catch (error) {
    section.warn(
      'DISK_UNKNOWN',
      `the free space is not known: ${(error as Error).message}`,
      'check the disk',
    );
  }
  if (diskTrouble(join(existing, 'file')) === 'read-only') {
    section.crit(
      'DISK_READ_ONLY',
      `the disk of ${existing} is read-only; every write fails with STORAGE_READ_ONLY`,
      'mount it for writing, after an I/O error check it first; or copy the files to another disk',
    );
  } else if (!isWritable(existing)) {
    section.crit(
      'DB_DIR_READ_ONLY',
      `${existing} cannot be written`,
      'correct its owner or mode, or choose another SVC_DB',
    );
  }
}

function checkFacts(facts: DatabaseFacts, dbPath: string, section: SectionBuilder): void {
  section.fact('schema version', facts.schemaVersion).fact('supported', SCHEMA_VERSION);
  if (facts.damage.length > 0) {
    section.crit(
      'DB_DAMAGED',
      `the integrity check says: ${facts.damage.join('; ')}`,
      'stop the node, keep a copy of the file and run "mnemesh repair"; where that fails, restore a backup',
    );
  }
  checkSchema(facts.schemaVersion, dbPath, section);
  const { content } = facts;
  if (content === null) return;
  section
    .fact('memories', content.memories)
    .fact('expired', content.expired)
    .fact('archived', content.archived)
    .fact('links', content.links);
}

function checkUninspectable(
  { reason, message }: Extract<Inspection, { ok: false }>['problem'],
  dbPath: string,
  section: SectionBuilder,
): void {
  const restore = 'stop the node, keep a copy of the file, restore a backup';
  const [code, what, fix] = {
    'no-database': ['DB_DAMAGED', 'is not a SQLite database', restore],
    damaged: ['DB_DAMAGED', 'is damaged', restore],
    foreign: ['DB_FOREIGN', 'belongs to another program', 'choose another SVC_DB'],
    busy: ['DB_BUSY', 'is held by another process', 'run doctor again in a moment'],
    disk: ['DB_NOT_EXAMINED', 'could not be examined', 'run doctor again afterwards'],
    unreadable: ['DB_UNREADABLE', 'cannot be read', 'run doctor as the user of the node'],
  }[reason] as [string, string, string];
  section.crit(code, `${dbPath} ${what}: ${message}`, fix);
}

/** Checks the write-ahead log, and snapshots that upgrades left. */
function checkSideFiles(dbPath: string, hasDatabase: boolean, section: SectionBuilder): void {
  const wal = statOf(`${dbPath}-wal`);
  if (wal !== null) section.fact('write-ahead log', sizeText(wal.size));
  if (wal !== null && !hasDatabase) {
    section.crit(
      'WAL_WITHOUT_DB',
      `${dbPath}-wal has no database: its content is lost when a new database is made`,
      'restore the database file next to it before the next start',
    );
  } else if (wal !== null && wal.size > WAL_LARGE_BYTES) {
    section.warn(
      'WAL_LARGE',
      `the write-ahead log has ${sizeText(wal.size)}: a reader keeps it from shrinking, or the last process did not close properly`,
      'restart the node and the MCP servers',
    );
  }
  const folder = dirname(dbPath);
  if (!existsSync(folder) || blockedBy(folder) !== null) return;
  const prefix = `${basename(dbPath)}.pre-migration-v`;
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.startsWith(prefix) && name.endsWith('.bak'));
  } catch {
    return;
  }
  for (const name of names) {
    const to = Number(/-to-v(\d+)-/.exec(name)?.[1]);
    const path = join(folder, name);
    const size = sizeText(statOf(path)?.size ?? 0);
    if (to < SCHEMA_VERSION) {
      section.warn(
        'SNAPSHOT_OLD',
        `${path} (${size}) is from before an earlier upgrade`,
        `remove it and its manifest`,
      );
    } else {
      section.info(
        'SNAPSHOT_KEPT',
        `${path} (${size}) allows going back to the release before the upgrade`,
        'remove it and its manifest if you stay with this release',
      );
    }
  }
}
