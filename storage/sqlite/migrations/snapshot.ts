import { basename } from 'node:path';
import type { Instant } from '../../../protocol/base/meanings.js';
import { DatabaseRefusedError } from '../../sql/database-setup.js';
import { claimFile, removeFiles, writeCopy } from '../snapshot-files.js';

/** The files of one snapshot. */
export interface Snapshot {
  readonly path: string;
  readonly manifestPath: string;
}

export interface SnapshotOptions {
  /** The database file; the snapshot is in the same folder. */
  readonly path: string;
  readonly from: number;
  readonly to: number;
  /** Distinguishes the snapshots of repeated upgrades. */
  readonly token: string;
  /** Canonical instant. */
  readonly createdAt: Instant;
}

/**
 * Copies the database as of its last commit to `<db-file>.pre-migration-v<FROM>-to-v<TO>-<token>.bak` (mode 0600,
 * synced to disk, verified) and describes the copy in `<…>.manifest.json` (interface §9.4). The caller holds the write
 * lock and has not written yet, so the copy is exactly what the upgrade changes.
 *
 * Any failure is a DatabaseRefusedError that names the cause and leaves no file behind.
 */
export function takeSnapshot(options: SnapshotOptions): Snapshot {
  const stem = `${options.path}.pre-migration-v${options.from}-to-v${options.to}-${options.token}`;
  const snapshot: Snapshot = { path: `${stem}.bak`, manifestPath: `${stem}.manifest.json` };
  const made: string[] = [];
  try {
    for (const path of [snapshot.path, snapshot.manifestPath]) {
      claimFile(path);
      made.push(path);
    }
    const copy = { ...snapshot, name: basename(snapshot.path) };
    const { schema_version: found } = writeCopy(options.path, copy, options.createdAt);
    if (found !== options.from) throw new Error(`it holds schema version ${found}`);
    return snapshot;
  } catch (error) {
    removeFiles(made);
    throw new DatabaseRefusedError(
      `the database has schema version ${options.from} and must be upgraded to ${options.to}, but the snapshot before ` +
        `the upgrade could not be written (${messageOf(error)}); nothing was changed: ${snapshot.path}`,
      { cause: error },
    );
  }
}

/** Removes a snapshot whose upgrade was undone, so that repeated attempts do not fill the disk. */
export function discardSnapshot(snapshot: Snapshot): void {
  removeFiles([snapshot.path, snapshot.manifestPath]);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
