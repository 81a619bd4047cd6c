import type { Settings } from '../config/settings.js';
import { LocalRunner, type OwnNode } from '../local/local-runner.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../seams.js';

/** Runs the operations of an MCP server or a command; `openNode` is called when no daemon serves the database. */
export function openRunner(settings: Settings, openNode: () => Promise<OwnNode>): LocalRunner {
  return new LocalRunner({
    settings,
    openNode,
    clock: systemClock,
    scheduler: systemScheduler,
    random: systemRandom,
    crypto: systemCrypto,
  });
}
