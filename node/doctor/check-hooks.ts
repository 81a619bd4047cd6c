import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { HookReport } from '../../actors/hooks/hooks.js';
import { modeText, statOf } from '../config/file-modes.js';
import { commandPath, readHooksFile } from '../config/hooks-file.js';
import { type Section, SectionBuilder } from './report.js';

/**
 * Checks the file of hooks and whether their programs could be started. `running` has the hooks of the daemon; null where none
 * answers.
 */
export function checkHooks(path: string, searchPath: string, running: RunningHooks | null): Section {
  const file = readHooksFile(path);
  const section = new SectionBuilder('Hooks').fact('file', path).fact('file state', file.state);
  if (file.state === 'absent' && (running?.hooks.length ?? 0) === 0) {
    return section.unused('no hooks are configured').done();
  }
  const on = file.hooks.filter(({ enabled }) => enabled);
  section.fact('hooks', file.hooks.length).fact('switched on', on.length);
  for (const problem of file.problems) section.crit('HOOKS_INVALID', problem, `correct ${path}`);
  for (const warning of file.warnings)
    section.warn('HOOK_NEVER_FIRES', warning, 'choose another event (docs/hooks.md), or switch it off');
  const stat = statOf(path);
  if (stat !== null && (stat.mode & 0o022) !== 0) {
    section.crit(
      'HOOKS_FILE_WRITABLE',
      `${path} (${modeText(stat)}) may be written by others, who could name programs to run`,
      `chmod 600 ${path}`,
    );
  }
  for (const { index, event, command } of on) {
    if (event === null || command === null) continue;
    section.fact(`hook[${index}]`, `${event}: ${command}`);
    const why = cannotRun(commandPath(command, dirname(path)), searchPath);
    if (why !== null)
      section.warn(
        'HOOK_COMMAND',
        `hook[${index}]: ${command} ${why}`,
        'correct its command, or make the file executable (chmod +x)',
      );
  }
  if (running !== null) tellFigures(section, running);
  return section.done();
}

/** What the daemon says of its hooks. */
export interface RunningHooks {
  readonly hooks: readonly HookReport[];
  readonly events_dropped: number;
  readonly problem: string | null;
}

function tellFigures(section: SectionBuilder, { hooks, events_dropped, problem }: RunningHooks): void {
  section.fact('in force', hooks.length).fact('events without room', events_dropped);
  for (const hook of hooks) {
    const { events_fired: fired, events_dropped: dropped, mean_latency_us: latency } = hook;
    section.fact(
      `counters of hook[${hook.index}]`,
      `events_fired ${fired}, events_dropped ${dropped}, mean_latency_us ${latency}`,
    );
    if (dropped > 0 && hook.last_problem !== null) {
      const often = `${dropped} of ${fired} runs of hook[${hook.index}] (${hook.event}) did not decide`;
      section.warn(
        'HOOK_FAILS',
        `${often}: ${hook.last_problem}`,
        `run ${hook.command} by hand with an event`,
      );
    }
  }
  if (problem !== null) {
    section.crit(
      'HOOKS_NOT_IN_FORCE',
      `the daemon keeps older hooks: ${problem}`,
      'correct the file of hooks',
    );
  }
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
