import { scrubNode } from '../../node/mesh/scrub-node.js';
import { systemScheduler } from '../../node/seams.js';
import { failed, ok } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { isSet } from '../global-flags.js';
import { withLocalNode } from '../local-node.js';
import { shown } from './mesh-parts.js';

/** Hashes all stored rows and operations again, and repairs damage. */
export const scrubCommand = defineCommand({
  name: 'mesh scrub',
  summary: 'Hash all rows and operations again, and repair what is damaged: exit code 1 when damage is left.',
  flags: [{ name: 'dry-run', kind: 'switch', doc: 'Only report damage: exit code 1 when there is any' }],
  examples: ['mesh scrub', 'mesh scrub --dry-run --json'],
  run: (parsed, terminal) =>
    withLocalNode(parsed, async (services, caller) => {
      const dryRun = isSet(parsed, 'dry-run');
      const done = await scrubNode(services, systemScheduler, { dryRun, agentId: caller.agentId });
      if (!done.ok) return failed(done.error);
      const { found, report } = done.value;
      await terminal.print(shown(parsed, terminal, { found, ...report }));
      return ok((dryRun ? found : report.lost_count) > 0 ? 1 : 0);
    }),
});
