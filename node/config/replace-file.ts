import { linkSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock, Random } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { placeFile } from '../../storage/atomic-file.js';

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
  const isBefore = () => readFileSync(real).equals(Buffer.from(before));
  // Text that was read from other bytes would damage the file, and its backup too.
  if (!isBefore() && readFileSync(real, 'utf8') === before) throw new Error(`${path} is not UTF-8`);
  const stamp = instantFromMs(clock.nowMs()).replace(/[-:.]/g, '');
  const backup = `${real}.bak.${stamp}`;
  createFile(backup, before, random);
  try {
    const file = {
      path: real,
      draft: draftOf(real, random),
      content: after,
      mode: mode & 0o777,
      owner: { uid, gid },
    };
    placeFile(file, (draft) => {
      if (!isBefore()) throw new Error(`${path} was changed by another process in the meantime`);
      renameSync(draft, real);
    });
    return backup;
  } catch (error) {
    rmSync(backup, { force: true });
    throw error;
  }
}

/** Makes a file that only its owner may read, as a whole. Throws where the name is taken. */
export function createFile(path: string, content: string, random: Random): void {
  placeFile({ path, draft: draftOf(path, random), content, mode: 0o600 }, (draft) => {
    try {
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new Error(`${path} was made by another process in the meantime`);
    }
  });
}

const draftOf = (path: string, random: Random) => join(dirname(path), `.${basename(path)}.${random.uuid()}`);
