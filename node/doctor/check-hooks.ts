import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { modeText, statOf } from '../config/file-modes.js';
import { readHooksFile } from '../config/hooks-file.js';
import { type Section, SectionBuilder } from './report.js';

/**
 * Checks the configured hooks and whether they could run. This release fires no hooks, so it warns of those that are
 * switched on, because an operator may rely on them as a guard.
 */
export function checkHooks(configPath: string, searchPath: string): Section {
  const file = readHooksFile(configPath);
  const section = new SectionBuilder('Hooks').fact('file', file.path).fact('file state', file.state);
  if (file.state === 'absent') return section.unused('no hooks are configured').done();
  const on = file.hooks.filter(({ enabled }) => enabled);
  section.fact('hooks', file.hooks.length).fact('switched on', on.length);
  section.fact('counters', 'none: this release fires no hooks');
  for (const problem of file.problems) section.crit('HOOKS_INVALID', problem, `correct ${file.path}`);
  const stat = statOf(file.path);
  if (stat !== null && (stat.mode & 0o022) !== 0) {
    section.crit(
      'HOOKS_FILE_WRITABLE',
      `${file.path} (${modeText(stat)}) may be written by others, who could name programs to run`,
      `chmod 600 ${file.path}`,
    );
  }
  for (const { index, event, command } of on) {
    if (event === null || command === null) continue;
    section.fact(`hook[${index}]`, `${event}: ${command}`);
    const why = cannotRun(command, searchPath);
    if (why !== null)
      section.warn('HOOK_COMMAND', `hook[${index}]: ${command} ${why}`, 'correct its command');
  }
  if (on.length > 0) {
    section.warn(
      'HOOKS_NOT_RUN',
      `${on.length} ${on.length === 1 ? 'hook is' : 'hooks are'} switched on, but this release fires no hooks: they neither do nor refuse anything`,
      'do not rely on them yet; set enabled = false',
    );
  }
  return section.done();
}

/** Why a command cannot be started; null when it can. */
function cannotRun(command: string, searchPath: string): string | null {
  const places = command.includes('/')
    ? [command]
    : searchPath.split(delimiter).flatMap((folder) => (isAbsolute(folder) ? [join(folder, command)] : []));
  const files = places.filter((place) => statOf(place)?.isFile() === true);
  if (files.length === 0) return 'does not exist';
  return files.some(isExecutable) ? null : 'is not executable';
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
