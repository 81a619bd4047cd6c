import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fail, ok, type Result } from '../../../protocol/base/result.js';

/** A folder out of which no path of a call leads. */
export interface Jail {
  /** Without symbolic links. */
  readonly root: string;
  /** The field of the call, for messages. */
  readonly field: string;
}

/** A path of a call inside a jail. */
export interface JailedPath extends Jail {
  /** Absolute; equal to its real path as long as nothing on it is a symbolic link. */
  readonly path: string;
}

/**
 * The path that a call names, below a root. VALIDATION_FAILED for one that leads out of it, whatever lies on the disk.
 * `make` makes the root where it is missing.
 */
export async function jailed(
  given: string,
  { root: configured, field, make }: { root: string; field: string; make: boolean },
): Promise<Result<JailedPath>> {
  const refused = (problem: string) => fail('VALIDATION_FAILED', `${field}: ${problem}`, { fields: [field] });
  if (given.includes('\0') || !given.isWellFormed()) return refused('must be a path');
  if (given.split(/[/\\]/).includes('..')) return refused('must not contain ".."');
  if (/^[A-Za-z]:|\\/.test(given)) return refused('must not name a drive, and must separate folders by "/"');
  let root: string;
  try {
    if (make) await mkdir(configured, { recursive: true, mode: 0o700 });
    root = await realpath(configured);
  } catch (error) {
    return refused(`the folder of skills ${configured} cannot be used (${codeOf(error)}): make it`);
  }
  const inner = isAbsolute(given) ? (innerOf(configured, given) ?? innerOf(root, given)) : given;
  const path = inner === null ? null : resolve(root, inner);
  if (path === null || innerOf(root, path) === null)
    return refused(`must lie in ${root}, the folder that the operator allows`);
  return ok({ root, field, path });
}

/** The part of a path below a folder; null for one that does not lie there. */
function innerOf(root: string, path: string): string | null {
  const inner = relative(resolve(root), resolve(path));
  return inner === '..' || inner.startsWith(`..${sep}`) || isAbsolute(inner) ? null : inner;
}

/** The path of something in a folder of the jail. */
export const below = ({ path, ...jail }: JailedPath, ...names: readonly string[]): JailedPath => ({
  ...jail,
  path: join(path, ...names),
});

/** What is wrong with a folder or file: it is not there, or something on its path is a symbolic link. Null when neither is. */
export async function linkProblem({ path, root }: JailedPath): Promise<string | null> {
  try {
    return (await realpath(path)) === path ? null : 'leads through a symbolic link';
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return `is not there; a relative path begins in ${root}`;
    return `cannot be read (${codeOf(error)})`;
  }
}

/**
 * Reads a regular file of the jail. What was opened must be what the path names without symbolic links afterwards, so a link
 * that is put there in between is found out; a pipe or a device does not hold the call up.
 */
export async function readJailed(place: JailedPath, bytesMax: number): Promise<Result<Buffer>> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
  let file: FileHandle;
  try {
    file = await open(place.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  } catch (error) {
    const isLink = codeOf(error) === 'ELOOP';
    return unfit(place, isLink ? 'is a symbolic link' : `cannot be read (${codeOf(error)})`);
  }
  try {
    const opened = await file.stat({ bigint: true });
    if (!opened.isFile()) return unfit(place, 'is not a regular file');
    const problem = await linkProblem(place);
    if (problem !== null) return unfit(place, problem);
    const named = await lstat(place.path, { bigint: true });
    if (named.ino !== opened.ino || named.dev !== opened.dev)
      return unfit(place, 'was replaced while it was read');
    return await readBounded(file, place, bytesMax);
  } catch (error) {
    return unfit(place, `cannot be read (${codeOf(error)})`);
  } finally {
    await file.close();
  }
}

const CHUNK_BYTES = 256 * 1024;

/** The bytes of an open file, which may grow while it is read. */
async function readBounded(file: FileHandle, place: JailedPath, bytesMax: number): Promise<Result<Buffer>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytesMax - size + 1));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) return ok(Buffer.concat(chunks));
    size += bytesRead;
    if (size > bytesMax) return unfit(place, `is longer than the ${bytesMax} bytes that are left for it`);
    chunks.push(chunk.subarray(0, bytesRead));
  }
}

/** The refusal of a file or folder that the call names. */
export function unfit({ root, field, path }: JailedPath, problem: string): Result<never> {
  const shown = relative(root, path) || '.';
  return fail('VALIDATION_FAILED', `${field}: ${JSON.stringify(shown)} ${problem}`, { fields: [field] });
}

export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);
