import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Instant } from '../../protocol/base/meanings.js';
import { syncToDisk } from '../atomic-file.js';
import { diskTrouble } from '../disk-failure.js';
import { openWriter } from './connection.js';
import { schemaVersion } from './file-schema.js';
import { openUnchanged } from './inspect/open-unchanged.js';
import { openSqlite } from './open-sqlite.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { lacksSharedFile } from './sqlite-errors.js';

/** The manifest: the description of a database copy, stored next to it. */
export interface Manifest {
  /** File name of the copy. */
  readonly snapshot: string;
  readonly sha256: string;
  readonly bytes: number;
  /** File name of the database. */
  readonly source_db: string;
  /** Layout of the manifest; increases when a key changes its meaning. */
  readonly version: number;
  /** Canonical instant. */
  readonly created_at: Instant;
  readonly backend: 'sqlite';
  readonly schema_version: number;
}

const MANIFEST_VERSION = 1;
/** Is told about each step of a copy; while it hashes, also how many of how many bytes are done. */
export type CopyStep = (what: 'copying' | 'hashing' | 'checking', bytes: number, of: number) => void;

const HASH_CHUNK_BYTES = 1024 * 1024;

/** Creates a file that must not exist yet: an existing file may be the only copy of something. */
export function claimFile(path: string): void {
  closeSync(openSync(path, 'wx', 0o600));
}

/** The files of a copy, and the table whose rows it leaves out. */
export interface CopyFiles {
  readonly path: string;
  readonly manifestPath: string;
  readonly name: string;
  readonly without?: string;
}

/**
 * Fills two empty files: one with the database as of its last commit, verified, the other with its manifest. Both are
 * on disk when this returns. Other processes may write to the database meanwhile.
 */
export function writeCopy(
  source: string,
  copy: CopyFiles,
  createdAt: string,
  step: CopyStep = () => undefined,
): Manifest {
  step('copying', 0, statSync(source).size);
  copyDatabase(source, copy.path);
  if (copy.without !== undefined) emptyTable(copy.path, copy.without);
  const sha256 = fileSha256(copy.path, step);
  const bytes = statSync(copy.path).size;
  step('checking', 0, bytes);
  const manifest: Manifest = {
    snapshot: copy.name,
    sha256,
    bytes,
    source_db: basename(source),
    version: MANIFEST_VERSION,
    created_at: createdAt,
    backend: 'sqlite',
    schema_version: checkedVersion(copy.path),
  };
  writeFileSync(copy.manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
  for (const path of [copy.path, copy.manifestPath, dirname(copy.path)]) syncToDisk(path);
  return manifest;
}

// Its own connection, because VACUUM INTO cannot run inside a transaction.
function copyDatabase(from: string, to: string): void {
  const source = openSource(from);
  try {
    source.prepare('VACUUM INTO ?').run(to);
  } finally {
    source.close();
  }
}

/** Overwrites the rows of a table, in the file itself: what is undone is only in memory. */
function emptyTable(path: string, table: string): void {
  const copy = openSqlite(path, { fileMustExist: true });
  try {
    copy.pragma('journal_mode = MEMORY');
    copy.pragma('secure_delete = ON');
    copy.exec(`DELETE FROM ${table}`);
  } finally {
    copy.close();
  }
}

const BUSY_TIMEOUT_MS = 10_000;

/** Opens a database to be copied, if need be without the side files for which its disk has no room. */
function openSource(path: string): SqliteConnection {
  const source = openSqlite(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    source.pragma('schema_version');
    return source;
  } catch (error) {
    source.close();
    if (lacksSharedFile(error, path)) return openWriter(path, BUSY_TIMEOUT_MS, 'FULL', 'alone');
    if (diskTrouble(path) !== 'read-only') throw error;
    const copy = openUnchanged(path);
    // Else SQLite refuses VACUUM INTO, although it writes to another file.
    copy.pragma('query_only = OFF');
    return copy;
  }
}

/** The schema version of a database file whose pages are intact; throws when they are damaged. */
export function checkedVersion(path: string): number {
  const copy = openSqlite(path, { readonly: true, fileMustExist: true });
  try {
    const integrity = copy.pragma('integrity_check', { simple: true });
    if (integrity !== 'ok') throw new Error(`its integrity check says: ${integrity}`);
    return schemaVersion(copy);
  } finally {
    copy.close();
  }
}

/** SHA-256 of a file, hex. In chunks: a database may be larger than a buffer can be. */
export function fileSha256(path: string, step: CopyStep = () => undefined): string {
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(HASH_CHUNK_BYTES);
  const { size } = statSync(path);
  const file = openSync(path, 'r');
  let through = 0;
  try {
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      hash.update(chunk.subarray(0, read));
      through += read;
      step('hashing', through, size);
    }
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

export function removeFiles(paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { force: true });
}
