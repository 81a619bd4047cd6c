import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { Instant } from '../../protocol/base/meanings.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import { recallKind } from '../../protocol/memory/recall-kind.js';
import { syncToDisk } from '../atomic-file.js';
import { makeFolder } from '../make-folder.js';
import { clearUnfinished, draftsOf, lockDrafts, MANIFEST_SUFFIX as SUFFIX } from './backup-drafts.js';
import { type CopyStep, claimFile, type Manifest, removeFiles, writeCopy } from './snapshot-files.js';

const MANIFEST_BYTES_MAX = 65_536;

const manifestSchema = z.object({
  snapshot: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().min(1),
  source_db: z.string(),
  version: z.int(),
  created_at: z.string(),
  backend: z.literal('sqlite'),
  schema_version: z.int().min(1),
});

export interface Backup {
  readonly path: string;
  readonly manifestPath: string;
  readonly manifest: Manifest;
}

export interface BackupOptions {
  /** The database file. */
  readonly path: string;
  readonly folder: string;
  /** How many complete backups of this database stay in the folder. */
  readonly keep: number;
  /** Canonical instant. */
  readonly now: Instant;
  readonly token: string;
  /** Is told about each step. */
  readonly step: CopyStep;
}

export interface TakenBackup extends Backup {
  /** Complete backups that were removed. */
  readonly pruned: number;
  /** Unfinished backups that were removed. */
  readonly unfinished: number;
}

/**
 * Copies the database into a folder, consistent while other processes write, and prunes older complete backups. The
 * ledger of recalls is left out, because what was asked here stays here. The copy gets its name only when it is
 * complete, and the manifest comes last: a copy without a manifest is not a backup. What killed backups of this database
 * left in the folder is removed first, so that the copy may use its space. NOT_FOUND when there is no database.
 */
export function takeBackup(options: BackupOptions): Result<TakenBackup> {
  const { path, folder, now, token } = options;
  if (!existsSync(path)) return fail('NOT_FOUND', `there is no database at ${path}`);
  makeFolder(folder);
  const stem = join(folder, `${basename(path)}-${now.replace(/[:.-]/g, '')}-${token}`);
  const unfinished = clearUnfinished(folder, basename(path));
  const backup = { path: `${stem}.db`, manifestPath: `${stem}${SUFFIX}` };
  const drafts = draftsOf(stem);
  const lock = lockDrafts(stem);
  try {
    claimFile(drafts.path);
    claimFile(drafts.manifestPath);
    const copy = { ...drafts, name: basename(backup.path), without: recallKind.table };
    const manifest = writeCopy(path, copy, now, options.step);
    renameSync(drafts.path, backup.path);
    renameSync(drafts.manifestPath, backup.manifestPath);
    syncToDisk(folder);
    return ok({ ...backup, manifest, pruned: prune(options, basename(backup.path)), unfinished });
  } catch (error) {
    removeFiles([drafts.path, drafts.manifestPath]);
    throw error;
  } finally {
    lock.release();
  }
}

/**
 * Removes the oldest complete backups of this database beyond `keep`. It keeps all other files in the folder, and the
 * newest backup, which looks old after the clock was set back.
 */
function prune({ path, folder, keep }: BackupOptions, newest: string): number {
  const name = basename(path);
  const complete = readdirSync(folder)
    .filter((file) => file.startsWith(`${name}-`) && file.endsWith(SUFFIX))
    .flatMap((file) => {
      const manifest = readManifest(join(folder, file));
      return manifest.ok && manifest.value.source_db === name ? [manifest.value] : [];
    })
    .filter(({ snapshot }) => basename(snapshot) === snapshot && snapshot !== newest)
    .filter(({ snapshot }) => existsSync(join(folder, snapshot)))
    .sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  const outdated = complete.slice(keep - 1);
  for (const { snapshot } of outdated) {
    removeFiles([join(folder, snapshot), manifestPathOf(join(folder, snapshot))]);
  }
  return outdated.length;
}

/** The path of a copy's manifest: the copy's name with another ending. */
export function manifestPathOf(copy: string): string {
  return join(dirname(copy), `${basename(copy).replace(/\.(db|bak)$/, '')}${SUFFIX}`);
}

/** BACKUP_UNVERIFIED when the file is missing or is not a manifest. */
export function readManifest(path: string): Result<Manifest> {
  try {
    const text = readFileSync(path, 'utf8');
    const parsed = manifestSchema.safeParse(JSON.parse(text.slice(0, MANIFEST_BYTES_MAX)));
    if (parsed.success) return ok(parsed.data);
  } catch {
    // Missing or not JSON; answered below.
  }
  return fail(
    'BACKUP_UNVERIFIED',
    `${path} is missing or is not a manifest, so the backup cannot be verified`,
  );
}
