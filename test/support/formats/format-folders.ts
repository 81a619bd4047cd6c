import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
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

/** A file of a home. */
interface KeptFile {
  readonly path: string;
  readonly mode: number;
  readonly base64: string;
}

const PERMISSIONS = 0o777;

/** Keeps a whole home in one file, with the modes of its files and folders. */
export function keepHome(home: string, to: string): void {
  const files = readdirSync(home, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((path): KeptFile => {
      const stat = statSync(join(home, path));
      const base64 = stat.isDirectory() ? '' : readFileSync(join(home, path)).toString('base64');
      return { path: stat.isDirectory() ? `${path}/` : path, mode: stat.mode & PERMISSIONS, base64 };
    });
  writeFileSync(to, gzipSync(JSON.stringify(files), { level: 9 }));
}

/** Puts a kept home into a folder. */
export function unpackHome(from: string, home: string): void {
  const files = JSON.parse(gunzipSync(readFileSync(from)).toString()) as readonly KeptFile[];
  for (const { path, mode, base64 } of files) {
    const at = join(home, path);
    mkdirSync(path.endsWith('/') ? at : dirname(at), { recursive: true });
    if (!path.endsWith('/')) writeFileSync(at, Buffer.from(base64, 'base64'));
    chmodSync(at, mode);
  }
}

/** What the kept mesh of a format holds, at every node. */
export interface ExpectedMesh {
  readonly mesh_id: string;
  /** In the order of the homes; the first made the mesh. */
  readonly peer_ids: readonly string[];
  /** When the first certificate expires, as the nodes say; the authority's lasts ten years longer. */
  readonly certificates_expire: string;
  readonly facts: Pick<DatabaseFacts, 'memories' | 'links' | 'tombstones' | 'conflicts' | 'log'>;
}

const meshFolder = (format: string) => join(FORMATS_FOLDER, format, 'mesh');

/** The kept homes of a format's mesh. */
export const homesOf = (format: string): readonly string[] =>
  readdirSync(meshFolder(format))
    .filter((name) => name.endsWith('.home.gz'))
    .sort()
    .map((name) => join(meshFolder(format), name));

/** What the mesh of a format holds. */
export const expectedMeshOf = (format: string): ExpectedMesh =>
  JSON.parse(readFileSync(join(meshFolder(format), 'expected.json'), 'utf8')) as ExpectedMesh;

/** Keeps the homes of a mesh, and what they hold. */
export function keepMesh(homes: readonly string[], folder: string, expected: ExpectedMesh): void {
  const to = join(folder, 'mesh');
  mkdirSync(to, { recursive: true });
  for (const [index, home] of homes.entries()) keepHome(home, join(to, `node-${index + 1}.home.gz`));
  writeFileSync(join(to, 'expected.json'), `${JSON.stringify(expected, null, 1)}\n`);
}
