import { hasControlCharacter } from '../base/ids.js';
import { utf8Bytes } from '../base/utf8.js';
import { RESOURCE_DEPTH_MAX, RESOURCE_NAME_BYTES_MAX, RESOURCE_PATH_BYTES_MAX } from './limits.js';

export const RESOURCE_KINDS = ['script', 'reference', 'asset'] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];

/** What is wrong with the path of a file below `resources/`; null for one that stays there on every system. */
export function resourcePathProblem(path: string): string | null {
  if (!path.isWellFormed() || hasControlCharacter(path)) return 'must not hold control characters';
  if (utf8Bytes(path) > RESOURCE_PATH_BYTES_MAX) return `must be at most ${RESOURCE_PATH_BYTES_MAX} bytes`;
  if (path.includes('\\')) return 'must separate folders by "/"';
  if (/^[A-Za-z]:/.test(path)) return 'must not name a drive';
  const names = path.split('/');
  if (names.length > RESOURCE_DEPTH_MAX) return `must lie at most ${RESOURCE_DEPTH_MAX} folders deep`;
  if (names.some((name) => name === '' || name === '.' || name === '..'))
    return 'must be relative, without empty names, "." and ".."';
  return names.every((name) => utf8Bytes(name) <= RESOURCE_NAME_BYTES_MAX)
    ? null
    : `must have names of at most ${RESOURCE_NAME_BYTES_MAX} bytes`;
}

/** What a file is for, by its folder and its ending (reference-mcp-cli §6.6). */
export function resourceKindOf(path: string): ResourceKind {
  const folder = path.split('/').slice(0, -1);
  if (folder.includes('scripts') || /\.(?:sh|py)$/.test(path)) return 'script';
  return folder.includes('reference') || folder.includes('references') ? 'reference' : 'asset';
}
