import type { Stats } from 'node:fs';
import type { HookHost } from '../../actors/hooks/hook-host.js';
import { HOOK_FILE_LOOK_MS, HOOK_FILE_STILL_MS } from '../../actors/hooks/limits.js';
import type { Clock, Log } from '../../protocol/base/seams.js';
import { statOf } from '../config/file-modes.js';
import { readHooksFile, writableByAll } from '../config/hooks-file.js';

export interface HooksWatchParts {
  readonly path: string;
  readonly clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  readonly log: Log;
}

/**
 * Reads the file of hooks, and reads it again when it has changed. A file that is being written may lack guards: it counts
 * when it was left alone for a while and both sides of the read show the same. Where no hook is in force there is no guard
 * to lose, and it counts at once.
 */
export class HooksWatch {
  #host: HookHost | null = null;
  #nextMs = Number.NEGATIVE_INFINITY;
  /** The state of the file that was read. */
  #seen = '';
  /** How many hooks are in force. */
  #inForce = 0;

  constructor(private readonly parts: HooksWatchParts) {}

  /** Registers what the file says now. Called once, before any event is fired. */
  begin(host: HookHost): void {
    this.#host = host;
    this.#read('first');
    this.#nextMs = this.parts.clock.monotonicMs() + HOOK_FILE_LOOK_MS;
  }

  /** Reads the file whether or not it has changed, and starts every child again. */
  reload(): void {
    this.#read('asked');
  }

  /** Looks at the file before a call, so that what it says counts for that call; soon after a look it does nothing. */
  look(): void {
    const { clock, path } = this.parts;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + HOOK_FILE_LOOK_MS;
    const stat = statOf(path);
    if (stateOf(stat) === this.#seen) return;
    const isStill = stat === null || clock.nowMs() - stat.ctimeMs >= HOOK_FILE_STILL_MS;
    if (isStill || this.#inForce === 0) this.#read('changed');
  }

  #read(why: 'first' | 'changed' | 'asked'): void {
    const { path, log } = this.parts;
    const host = this.#host!;
    const before = stateOf(statOf(path));
    const { specs, problems: wrong, warnings } = readHooksFile(path);
    const after = stateOf(statOf(path));
    // A file that changed meanwhile is read at a later look.
    this.#seen = before === after ? after : '';
    const problems = [...wrong, ...writableByAll(path)];
    if (before !== after) problems.push(`${path} changed while it was read; it is read again`);
    else if (why === 'changed' && specs.length === 0 && problems.length === 0 && this.#inForce > 0)
      problems.push(`${path} has no hook any more; send SIGHUP or restart the node if that is meant`);
    if (problems.length > 0) {
      host.refuse(problems.join('; '), why === 'first');
      log.error({ path, problems }, 'the file of hooks cannot be used: the hooks before it stay in force');
      return;
    }
    // Not as a warning: every command that opens the node would print it. `hooks check` and `doctor` warn.
    for (const warning of warnings) log.info({ path }, warning);
    this.#inForce = specs.length;
    host.replace(specs, why === 'asked');
    if (why !== 'first') log.info({ path, hooks: specs.length }, 'the file of hooks was read');
  }
}

const stateOf = (stat: Stats | null): string =>
  stat === null ? 'absent' : `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size} ${stat.ino}`;
