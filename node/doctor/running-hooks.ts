import type { Settings } from '../config/settings.js';
import { findDaemon } from '../local/daemon-connection.js';
import { hookList } from '../operations/governance/hooks-admin.js';
import { systemCrypto, systemRandom, systemScheduler } from '../seams.js';
import type { RunningHooks } from './check-hooks.js';

/** The hooks of the daemon of this database; null when none answers. */
export async function runningHooks(settings: Settings): Promise<RunningHooks | null> {
  const daemon = await findDaemon(settings, systemCrypto, systemScheduler);
  if (daemon === null) return null;
  try {
    const answer = await daemon.call({
      operation: hookList.name,
      surface: 'cli',
      caller: {
        agentId: 'host:doctor',
        claimed: 'made',
        viewer: { all: true, agentId: null, asNamespace: null },
        admin: true,
        local: true,
      },
      input: {},
      unknownFields: 'refuse',
      key: systemRandom.uuid(),
      again: false,
    });
    return typeof answer !== 'string' && answer.ok ? (answer.value as unknown as RunningHooks) : null;
  } finally {
    daemon.close();
  }
}
