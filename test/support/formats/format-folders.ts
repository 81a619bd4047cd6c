import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { auditHeadPath } from '../../../storage/sqlite/audit-head.js';
import type { DatabaseFacts } from './database-facts.js';

/** The folder in the repository that keeps one folder for each on-disk format. */
export const FORMATS_FOLDER = fileURLToPath(new URL('../../../../fixtures/formats/', import.meta.url));

/** The formats of which the repository keeps something, oldest first. */
export const formatsKept = (): readonly string[] =>
  readdirSync(FORMATS_FOLDER).sort((one, other) => Number(one) - Number(other));

const DATABASE = 'database.db';

/** Puts a closed database, and the head of its audit chain, into a folder of a format. */
export function keepDatabase(from: string, folder: string): void {
  writeFileSync(join(folder, `${DATABASE}.gz`), gzipSync(readFileSync(from), { level: 9 }));
  writeFileSync(auditHeadPath(join(folder, DATABASE)), readFileSync(auditHeadPath(from)));
}

/** Copies the database of a format, and the head of its audit chain, into a folder; answers its path. */
export function databaseOf(format: string, to: string): string {
  const kept = join(FORMATS_FOLDER, format, DATABASE);
  const path = join(to, 'mnemesh.db');
  writeFileSync(path, gunzipSync(readFileSync(`${kept}.gz`)), { mode: 0o600 });
  const head = auditHeadPath(kept);
  if (existsSync(head)) writeFileSync(auditHeadPath(path), readFileSync(head), { mode: 0o600 });
  return path;
}

/** What a kept database holds, as the release that wrote it showed it. */
export interface Expected {
  /** The instant of its last write. */
  readonly ended_at: string;
  readonly facts: DatabaseFacts;
  /** Of each namespace, hex; the bytes are the format's own. */
  readonly digests: Readonly<Record<string, string>>;
}

/** Keeps what a database holds beside it. */
export const keepExpected = (folder: string, expected: Expected): void =>
  writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(expected, null, 1)}\n`);

/** What the database of a format holds. */
export const expectedOf = (format: string): Expected =>
  JSON.parse(readFileSync(join(FORMATS_FOLDER, format, 'expected.json'), 'utf8')) as Expected;
