import { dirname } from 'node:path';
import { ChildSlots } from '../../actors/hooks/child-slots.js';
import { HookHost } from '../../actors/hooks/hook-host.js';
import type { Hooks } from '../../actors/hooks/hooks.js';
import { HOOK_CHILDREN_MAX, HOOK_WAITING_MAX } from '../../actors/hooks/limits.js';
import type { Questions } from '../../actors/hooks/questions.js';
import type { Clock, Crypto, Log, Scheduler } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';
import { commandPath } from '../config/hooks-file.js';
import type { Settings } from '../config/settings.js';
import { DaemonHook } from './daemon-hook.js';
import { ExecHook, type ExecutorParts } from './exec-hook.js';
import { HooksWatch } from './hooks-watch.js';
import { SpawnRules } from './spawn-rules.js';

export interface OpenHooksParts {
  readonly settings: Settings;
  readonly store: Pick<Store, 'query' | 'execute'>;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly crypto: Crypto;
  readonly log: Log;
  /** Null in a process that no operator can answer. */
  readonly questions: Questions | null;
  /** True starts the children that stay now, and not with their first event. */
  readonly startsNow: boolean;
}

/** The hooks of a process, and what ends them. */
export interface OpenHooks {
  readonly hooks: Hooks;
  /** Reads the file again. */
  reload(): void;
  close(): Promise<void>;
}

/** Reads `hooks.toml` beside the configuration file and registers its hooks. Nothing is started for a file without hooks. */
export function openHooks(parts: OpenHooksParts): OpenHooks {
  const { settings, clock, scheduler, log, questions, startsNow } = parts;
  const { hooksPath, hookEnvironment: environment, hookAskTimeoutMs: askTimeoutMs } = settings;
  const folder = dirname(hooksPath);
  const slots = new ChildSlots(HOOK_CHILDREN_MAX, HOOK_WAITING_MAX, { clock, scheduler });
  const rules = new SpawnRules(parts);
  const own: ExecutorParts = {
    place: { folder, environment },
    refusal: (command) => rules.refusal(command),
    clock,
    scheduler,
  };
  const watch = new HooksWatch({ path: hooksPath, clock, log });
  const host = new HookHost({
    clock,
    scheduler,
    log,
    questions,
    askTimeoutMs,
    look: () => watch.look(),
    executorOf: ({ command, mode }) => {
      const path = commandPath(command, folder);
      return mode === 'exec' ? new ExecHook(path, slots, own) : new DaemonHook(path, own, startsNow);
    },
  });
  watch.begin(host);
  return { hooks: host, reload: () => watch.reload(), close: () => host.close() };
}
