import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import Database from 'better-sqlite3';
import { DatabaseRefusedError, schemaVersion } from '../database-setup.js';

/** The files of one snapshot. */
export interface Snapshot {
  readonly path: string;
  readonly manifestPath: string;
}

export interface SnapshotOptions {
  /** The database file; the snapshot is its sibling. */
  readonly path: string;
  readonly from: number;
  readonly to: number;
  /** Distinguishes the snapshots of repeated upgrades. */
  readonly token: string;
  /** Canonical instant. */
  readonly createdAt: string;
}

/** Layout of the manifest; grows when a key changes its meaning. */
const MANIFEST_VERSION = 1;
const HASH_CHUNK_BYTES = 1024 * 1024;

/**
 * Copies the database as its last commit left it to `<db-file>.pre-migration-v<FROM>-to-v<TO>-<token>.bak` (mode 0600,
 * synced to disk, verified) and describes the copy in `<…>.manifest.json` (interface §9.4). The caller holds the
 * write lock and has not written yet, so the copy is exactly what will be migrated.
 *
 * Any failure is a DatabaseRefusedError that names the cause and leaves no file behind.
 */
export function takeSnapshot(options: SnapshotOptions): Snapshot {
  const stem = `${options.path}.pre-migration-v${options.from}-to-v${options.to}-${options.token}`;
  const snapshot: Snapshot = { path: `${stem}.bak`, manifestPath: `${stem}.manifest.json` };
  const made: string[] = [];
  try {
    // Both must be new: whatever has one of these names is somebody's only copy of something.
    for (const path of [snapshot.path, snapshot.manifestPath]) {
      closeSync(openSync(path, 'wx', 0o600));
      made.push(path);
    }
    copyDatabase(options.path, snapshot.path);
    verify(snapshot.path, options.from);
    writeFileSync(snapshot.manifestPath, manifest(snapshot.path, options));
    for (const path of [snapshot.path, snapshot.manifestPath, dirname(snapshot.path)]) syncToDisk(path);
    return snapshot;
  } catch (error) {
    for (const path of made) rmSync(path, { force: true });
    throw new DatabaseRefusedError(
      `the database has schema version ${options.from} and must be upgraded to ${options.to}, but the snapshot before ` +
        `the upgrade could not be written (${messageOf(error)}); nothing was changed: ${snapshot.path}`,
      { cause: error },
    );
  }
}

/** Removes a snapshot whose upgrade was undone, so that repeated attempts do not fill the disk. */
export function discardSnapshot(snapshot: Snapshot): void {
  rmSync(snapshot.path, { force: true });
  rmSync(snapshot.manifestPath, { force: true });
}

// A second connection, because VACUUM INTO cannot run inside the transaction that holds the lock.
function copyDatabase(from: string, to: string): void {
  const source = new Database(from, { readonly: true, fileMustExist: true });
  try {
    source.prepare('VACUUM INTO ?').run(to);
  } finally {
    source.close();
  }
}

function verify(path: string, version: number): void {
  const copy = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const integrity = copy.pragma('integrity_check', { simple: true });
    if (integrity !== 'ok') throw new Error(`its integrity check says: ${integrity}`);
    const found = schemaVersion(copy);
    if (found !== version) throw new Error(`it holds schema version ${found}`);
  } finally {
    copy.close();
  }
}

function manifest(path: string, options: SnapshotOptions): string {
  const fields = {
    snapshot: basename(path),
    sha256: fileSha256(path),
    bytes: statSync(path).size,
    source_db: basename(options.path),
    version: MANIFEST_VERSION,
    created_at: options.createdAt,
    backend: 'sqlite',
    schema_version: options.from,
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

// In chunks: a database may be larger than a buffer can be.
function fileSha256(path: string): string {
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(HASH_CHUNK_BYTES);
  const file = openSync(path, 'r');
  try {
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      hash.update(chunk.subarray(0, read));
    }
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

function syncToDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
