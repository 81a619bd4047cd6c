import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock, Random } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { syncFolder } from './sync-folder.js';

/**
 * Replaces a file atomically: a backup `<file>.bak.<time>` with the old content (mode 0600), then the new content under
 * another name, synced, and renamed into place with the owner and mode of the old file. A link stays a link. Returns
 * the backup's path. If it throws, the file is unchanged and both new files are gone.
 */
export function replaceFile(
  path: string,
  before: string,
  after: string,
  clock: Clock,
  random: Random,
): string {
  const real = realpathSync(path);
  const { mode, uid, gid } = statSync(real);
  const stamp = instantFromMs(clock.nowMs()).replace(/[-:.]/g, '');
  const backup = `${real}.bak.${stamp}`;
  const draft = join(dirname(real), `.${basename(real)}.${random.uuid()}`);
  const made: string[] = [];
  try {
    write(backup, before, 0o600, made);
    write(draft, after, mode & 0o777, made, { uid, gid });
    if (readFileSync(real, 'utf8') !== before)
      throw new Error(`${path} was changed by another process in the meantime`);
    renameSync(draft, real);
    made.length = 0;
    syncFolder(dirname(real));
    return backup;
  } catch (error) {
    for (const left of made) rmSync(left, { force: true });
    throw error;
  }
}

function write(
  path: string,
  content: string,
  mode: number,
  made: string[],
  owner?: { readonly uid: number; readonly gid: number },
): void {
  const file = openSync(path, 'wx', 0o600);
  made.push(path);
  try {
    writeFileSync(file, content);
    if (owner !== undefined && process.getuid?.() === 0) fchownSync(file, owner.uid, owner.gid);
    fchmodSync(file, mode);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
