import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder (0700) and its missing parent folders; other processes may make them at the same time. Node's own
 * `recursive` never returns where a file system answers ENOENT to every mkdir, as /proc does. Throws the system's
 * error.
 */
export function makeFolder(folder: string): void {
  const problem = made(folder);
  if (problem === null) return;
  const above = dirname(folder);
  if (problem.code !== 'ENOENT' || above === folder) throw problem;
  makeFolder(above);
  const again = made(folder);
  if (again !== null) throw again;
}

/** Makes one folder; null when it exists now, even if another process made it. */
function made(folder: string): NodeJS.ErrnoException | null {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return null;
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    return failure.code === 'EEXIST' && statSync(folder).isDirectory() ? null : failure;
  }
}
