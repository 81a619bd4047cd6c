import { type Stats, statSync } from 'node:fs';

/** The status of the file at a path; null when it does not exist or cannot be accessed. */
export function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

/** Permission bits as `chmod` takes them. */
export function modeText(stat: Stats): string {
  return `0${(stat.mode & 0o777).toString(8)}`;
}
