import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { statOf } from '../config/file-modes.js';

/** The nearest folder on a path that exists. */
export function existingFolder(path: string): string {
  const stat = statOf(path);
  const parent = dirname(path);
  return stat?.isDirectory() === true || parent === path ? path : existingFolder(parent);
}

/** The first part of a path that must be a folder, but exists and is not one; null when every part can be. */
export function blockedBy(folder: string): string | null {
  const parent = dirname(folder);
  const stat = statOf(folder);
  if (stat !== null) return stat.isDirectory() ? null : folder;
  return parent === folder ? null : blockedBy(parent);
}

export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A number of bytes for people. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const step = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}
