import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Random } from '../../../protocol/base/seams.js';
import { codeOf, type JailedPath, linkProblem, unfit } from './jail.js';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** A file that is written, below the folder. */
export interface WrittenFile {
  readonly path: string;
  read(): Promise<Result<Uint8Array>>;
}

/**
 * Writes a whole folder: first under a random name, which is then renamed. CONFLICT where
 * something other than an empty folder is there. `commit` runs when everything is written.
 */
export async function writeFolder(
  target: JailedPath,
  files: readonly WrittenFile[],
  { random, commit }: { readonly random: Random; readonly commit: () => Promise<Result<unknown>> },
): Promise<Result<null>> {
  if (target.path === target.root) return unfit(target, 'must be a folder below it');
  const drafts = { ...target, path: join(target.root, `.export-${random.uuid()}`) };
  try {
    const taken = await takenProblem(target);
    if (taken !== null) return taken;
    await mkdir(drafts.path, { mode: FOLDER_MODE });
    const written = await writeFiles(drafts.path, files);
    if (!written.ok) return failed(written.error);
    const committed = await commit();
    if (!committed.ok) return failed(committed.error);
    return await moved(drafts, target);
  } catch (error) {
    return notWritten(target, codeOf(error));
  } finally {
    await rm(drafts.path, { recursive: true, force: true });
  }
}

function notWritten(target: JailedPath, code: string): Result<never> {
  const message = `the skill cannot be written to ${target.path} (${code})`;
  if (code === 'ENOSPC' || code === 'EDQUOT') return fail('STORAGE_FULL', message);
  return code === 'EROFS' ? fail('STORAGE_READ_ONLY', message) : unfit(target, `cannot be written (${code})`);
}

async function takenProblem(target: JailedPath): Promise<Result<never> | null> {
  try {
    const found = await lstat(target.path);
    if (!found.isDirectory()) return unfit(target, 'is not a folder');
    const problem = await linkProblem(target);
    if (problem !== null) return unfit(target, problem);
    if ((await readdir(target.path)).length === 0) return null;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return await parentProblem(target);
    return unfit(target, `cannot be read (${codeOf(error)})`);
  }
  const shown = relative(target.root, target.path);
  return fail(
    'CONFLICT',
    `${target.field}: ${JSON.stringify(shown)} holds files already: name another folder`,
  );
}

/** Makes the folders above the target. The first that is there must be no symbolic link, and the new ones are none. */
async function parentProblem(target: JailedPath): Promise<Result<never> | null> {
  const parent = { ...target, path: dirname(target.path) };
  let above = parent;
  for (;;) {
    const problem = await linkProblem(above);
    if (problem === null) break;
    const isMissing = await lstat(above.path).then(
      () => false,
      (error: unknown) => codeOf(error) === 'ENOENT',
    );
    if (!isMissing || above.path === target.root) return unfit(above, problem);
    above = { ...above, path: dirname(above.path) };
  }
  await mkdir(parent.path, { recursive: true, mode: FOLDER_MODE });
  const problem = await linkProblem(parent);
  return problem === null ? null : unfit(parent, problem);
}

async function writeFiles(folder: string, files: readonly WrittenFile[]): Promise<Result<null>> {
  const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW = 0 } = constants;
  for (const { path, read } of files) {
    const bytes = await read();
    if (!bytes.ok) return failed(bytes.error);
    const place = join(folder, path);
    await mkdir(dirname(place), { recursive: true, mode: FOLDER_MODE });
    const file = await open(place, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, FILE_MODE);
    try {
      await file.writeFile(bytes.value);
    } finally {
      await file.close();
    }
  }
  return ok(null);
}

/** The written folder in its place; taken back where that turns out to lie elsewhere. */
async function moved(drafts: JailedPath, target: JailedPath): Promise<Result<null>> {
  try {
    await rename(drafts.path, target.path);
  } catch (error) {
    const isTaken = ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(codeOf(error));
    if (!isTaken) throw error;
    return fail('CONFLICT', `${target.field}: something was put into the folder meanwhile: name another one`);
  }
  if ((await realpath(target.path)) === target.path) return ok(null);
  await rename(target.path, drafts.path);
  return unfit(target, 'leads through a symbolic link');
}
