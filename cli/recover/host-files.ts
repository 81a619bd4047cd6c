import { realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { userFolder } from '../../node/config/paths.js';
import { filesBelow } from '../mine/source-file.js';

/** A file in which a host wrote a session. */
export interface HostFile {
  readonly host: string;
  readonly path: string;
}

/** The names that Claude Code gives to a project's folder: its releases write the path in several ways. */
export function folderSlugs(folder: string): readonly string[] {
  const slashes = folder.replaceAll('/', '-');
  return [...new Set([folder.replace(/[^A-Za-z0-9]/g, '-'), slashes, `-${slashes}`])];
}

/** The folders of each host with the sessions of a folder; a host that does not tell them apart has one for all. */
const FOLDERS: Readonly<Record<string, (folder: string) => readonly string[]>> = {
  'claude-code': (folder) => folderSlugs(folder).map((name) => `.claude/projects/${name}`),
  codex: () => ['.codex/sessions'],
  'gemini-cli': () => ['.config/gemini/sessions', '.gemini/tmp'],
};

/** The hosts whose sessions are found by themselves. */
export const HOSTS = Object.keys(FOLDERS);

/** The newest session of a host, or of all hosts where the word names none; null where there is none. */
export function newestSession(host: string, folder: string): HostFile | null {
  const hosts = HOSTS.includes(host) ? [host] : HOSTS;
  let newest: { readonly file: HostFile; readonly ms: number } | null = null;
  for (const name of hosts) {
    for (const place of FOLDERS[name]!(resolve(folder))) {
      for (const path of sessionsIn(join(userFolder(), place))) {
        const ms = statSync(path).mtimeMs;
        if (newest === null || ms > newest.ms) newest = { file: { host: name, path }, ms };
      }
    }
  }
  return newest?.file ?? null;
}

/** Files that hold no session of their own. */
const BESIDE = /(^|\/)(agent-[^/]*\.jsonl|logs\.json|checkpoint-[^/]*\.json|shell_history)$/;

function sessionsIn(folder: string): readonly string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const files = filesBelow(folder, { add: () => undefined });
  if (!files.ok) return [];
  const real = realpathSync(folder);
  return files.value
    .filter(({ path }) => /\.jsonl?$/.test(path) && !BESIDE.test(path))
    .map(({ path }) => join(real, path));
}
