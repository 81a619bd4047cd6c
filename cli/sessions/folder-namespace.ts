import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { namespaceNameProblem } from '../../protocol/base/ids.js';

/**
 * The namespace of a folder: the name of the repository that it is in, by the address of `origin` or by its folder, else
 * the name of the folder. Characters that a namespace cannot hold become `-`. Null where nothing is left of the name.
 */
export function folderNamespace(folder: string): string | null {
  const root = repositoryOf(resolve(folder));
  const name = (root === null ? null : originOf(root.git)) ?? basename(root?.folder ?? resolve(folder));
  const fitting = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[-_.]+|[-.]+$/g, '');
  return namespaceNameProblem(fitting) === null ? fitting : null;
}

/** The nearest folder with a `.git`, and where its configuration is; a worktree shares that of its repository. */
function repositoryOf(start: string): { readonly folder: string; readonly git: string } | null {
  for (let folder = start; ; folder = dirname(folder)) {
    const git = join(folder, '.git');
    const kind = statSync(git, { throwIfNoEntry: false });
    if (kind?.isDirectory() === true) return { folder, git };
    if (kind?.isFile() === true) return { folder, git: sharedGit(folder, git) };
    if (dirname(folder) === folder) return null;
  }
}

function sharedGit(folder: string, file: string): string {
  const named = /^gitdir:\s*(.+)$/m.exec(textOf(file) ?? '')?.[1];
  if (named === undefined) return file;
  const git = resolve(folder, named.trim());
  const common = textOf(join(git, 'commondir'))?.trim();
  return common === undefined ? git : resolve(git, common);
}

function originOf(git: string): string | null {
  const section = /^\s*\[remote "origin"\]([^[]*)/m.exec(textOf(join(git, 'config')) ?? '')?.[1];
  const url = /^\s*url\s*=\s*(.+)$/m.exec(section ?? '')?.[1]?.trim();
  const name = url
    ?.replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split(/[/:\\]/)
    .at(-1);
  return name === undefined || name === '' ? null : name;
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
