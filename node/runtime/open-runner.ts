import type { Settings } from '../config/settings.js';
import { LocalRunner, type OwnNode } from '../local/local-runner.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../seams.js';

/** Runs the operations of an MCP server, which prepares its node, or a command; `openNode` is called when no other process serves. */
export function openRunner(
  settings: Settings,
  openNode: () => Promise<OwnNode>,
  prepareNode?: () => Promise<unknown>,
): LocalRunner {
  return new LocalRunner({
    settings,
    openNode,
    ...(prepareNode === undefined ? {} : { prepareNode }),
    clock: systemClock,
    scheduler: systemScheduler,
    random: systemRandom,
    crypto: systemCrypto,
  });
}
