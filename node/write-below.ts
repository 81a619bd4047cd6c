import { dirname, resolve, sep } from 'node:path';
import { makeFolder } from '../storage/make-folder.js';
import { PrivateFile } from './private-file.js';

/**
 * Writes a file below a folder, whose missing folders are made. Answers why it could not, null where it did: a name that
 * leads out of the folder, as a peer may have made one, or what the system says.
 */
export function writeBelow(
  folder: string,
  { name, content }: { readonly name: string; readonly content: string },
  token: string,
): string | null {
  const path = resolve(folder, name);
  if (!path.startsWith(folder.endsWith(sep) ? folder : folder + sep))
    return 'its name leads out of the folder';
  try {
    makeFolder(dirname(path));
    const file = new PrivateFile(path, token);
    try {
      file.write(content);
      file.finish();
    } catch (error) {
      file.abandon();
      throw error;
    }
    return null;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    return code ?? 'the system refuses it';
  }
}
