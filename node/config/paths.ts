import { realpathSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';

/** A path of a setting, made absolute; `~` and `~/` stand for the folder of the user. */
export function absolutePath(path: string): string {
  return resolve(path === '~' || path.startsWith('~/') ? join(userFolder(), path.slice(2)) : path);
}

/** The folder that HOME names, or that of the account: data must not get into the working directory. */
export function userFolder(): string {
  const named = homedir();
  return isAbsolute(named) ? named : userInfo().homedir;
}

/** The path without symbolic links. What does not exist yet keeps its name below what does. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}
