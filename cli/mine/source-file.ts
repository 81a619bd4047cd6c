import { createReadStream, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { fail, ok, type Result } from '../../protocol/base/result.js';

/** A file of an export or of an agent, in a folder or in an archive. */
export interface SourceFile {
  /** The path below the folder or archive, with `/`; the file name when a single file was given. */
  readonly path: string;
  readonly size: number;
  /** `bytesMax` reads only the beginning. Rejects where the file is damaged. */
  readonly read: (bytesMax?: number) => AsyncIterable<Uint8Array>;
}

/** What was not read, and why; the rest is. */
export interface Problems {
  add(path: string, problem: string): void;
}

const DEPTH_MAX = 12;
const FILES_MAX = 200_000;
const MINED = /\.(jsonl?|db)$/i;

/**
 * The files of a folder whose names are wanted: by default those that may hold conversations. Links in it are not
 * followed: they could lead anywhere.
 */
export function filesBelow(root: string, problems: Problems, wanted = MINED): Result<SourceFile[]> {
  const real = realpathSync(root);
  const files: SourceFile[] = [];
  const walk = (folder: string, depth: number): boolean => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      const shown = path
        .slice(real.length + 1)
        .split(sep)
        .join('/');
      if (entry.isSymbolicLink()) {
        if (leadsOut(path, real)) problems.add(shown, 'is a link that leads out of the folder: not followed');
      } else if (entry.isDirectory()) {
        if (depth === DEPTH_MAX) problems.add(shown, `lies more than ${DEPTH_MAX} folders deep: not read`);
        else if (!walk(path, depth + 1)) return false;
      } else if (entry.isFile() && wanted.test(entry.name)) {
        files.push(fileAt(path, shown));
        if (files.length > FILES_MAX) return false;
      }
    }
    return true;
  };
  if (!walk(real, 0))
    return fail('VALIDATION_FAILED', `${root} holds more than ${FILES_MAX} files: name a folder below it`, {
      fields: ['path'],
    });
  return ok(files.sort((left, right) => (left.path < right.path ? -1 : 1)));
}

function leadsOut(link: string, root: string): boolean {
  try {
    return !`${realpathSync(link)}${sep}`.startsWith(root + sep);
  } catch {
    // It leads nowhere.
    return false;
  }
}

/** A file of the disk under the path that messages show. */
export const fileAt = (path: string, shown = basename(path)): SourceFile => ({
  path: shown,
  size: statSync(path).size,
  read: (bytesMax) => createReadStream(path, bytesMax === undefined ? {} : { end: bytesMax - 1 }),
});
