import { stat } from 'node:fs/promises';
import type { HookHost } from '../../actors/hooks/hook-host.js';
import { HOOK_LOOK_MS } from '../../actors/hooks/limits.js';
import type { Clock, Log } from '../../protocol/seams.js';
import { readHooksFile, writableByAll } from '../config/hooks-file.js';

export interface HooksWatchParts {
  readonly path: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
}

/** Reads the file of hooks, and reads it again when it has changed. */
export class HooksWatch {
  #host: HookHost | null = null;
  #nextMs = Number.NEGATIVE_INFINITY;
  #seen = '';
  #isLooking = false;

  constructor(private readonly parts: HooksWatchParts) {}

  /** Registers what the file says now. Called once, before any event is fired. */
  begin(host: HookHost): void {
    this.#host = host;
    this.#read(true);
    this.#nextMs = this.parts.clock.monotonicMs() + HOOK_LOOK_MS;
    void this.#changed();
  }

  /** Reads the file whether or not it has changed. */
  reload(): void {
    this.#read(false);
  }

  /** Looks at the file behind the call, at most once a second. */
  look(): void {
    const nowMs = this.parts.clock.monotonicMs();
    if (nowMs < this.#nextMs || this.#isLooking) return;
    this.#nextMs = nowMs + HOOK_LOOK_MS;
    this.#isLooking = true;
    void this.#changed().then((changed) => {
      this.#isLooking = false;
      if (changed) this.#read(false);
    });
  }

  async #changed(): Promise<boolean> {
    const before = this.#seen;
    this.#seen = await stat(this.parts.path).then(
      ({ mtimeMs, ctimeMs, size, ino }) => `${mtimeMs} ${ctimeMs} ${size} ${ino}`,
      () => 'absent',
    );
    return before !== this.#seen;
  }

  #read(isFirst: boolean): void {
    const { path, log } = this.parts;
    const host = this.#host!;
    const { specs, problems: wrong } = readHooksFile(path);
    const problems = [...wrong, ...writableByAll(path)];
    if (problems.length > 0) {
      host.refuse(problems.join('; '), isFirst);
      log.error({ path, problems }, 'the file of hooks cannot be used: the hooks before it stay in force');
      return;
    }
    host.replace(specs);
    if (!isFirst) log.info({ path, hooks: specs.length }, 'the file of hooks was read');
  }
}
