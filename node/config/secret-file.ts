import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { Secret } from './secret.js';

/** Why a key file gives no key. */
export type SecretFileProblem = 'missing' | 'unreadable' | 'lax-mode' | 'empty';

/** A key is one line; a longer file is not a key file. */
const KEY_BYTES_MAX = 16_384;

/**
 * Reads a key from the first line of a file that only its owner may read: mode 0400, or a looser one where that is permitted; one
 * beyond it is refused (interface §2.12). The checks and the read use the same open file.
 */
export function readSecretFile(
  path: string,
  modeMax = 0o400,
):
  | { readonly ok: true; readonly secret: Secret }
  | { readonly ok: false; readonly problem: SecretFileProblem } {
  let file: number;
  try {
    // Opening a pipe must not wait for a writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { ok: false, problem: code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unreadable' };
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) return { ok: false, problem: 'unreadable' };
    if ((stat.mode & 0o777 & ~modeMax) !== 0) return { ok: false, problem: 'lax-mode' };
    const bytes = Buffer.alloc(KEY_BYTES_MAX + 1);
    const length = readSync(file, bytes);
    if (length > KEY_BYTES_MAX) return { ok: false, problem: 'unreadable' };
    const line = bytes
      .toString('utf8', 0, length)
      .replace(/^\uFEFF/, '')
      .split(/\r?\n/, 1)[0]!
      .trim();
    return line === '' ? { ok: false, problem: 'empty' } : { ok: true, secret: new Secret(line) };
  } catch {
    return { ok: false, problem: 'unreadable' };
  } finally {
    closeSync(file);
  }
}
