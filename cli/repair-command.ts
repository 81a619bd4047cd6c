import { scrubNode } from '../node/mesh/scrub-node.js';
import { repairFile, resetLogClock } from '../node/runtime/repair.js';
import { systemScheduler } from '../node/seams.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { settingsFor } from './global-flags.js';
import { withLocalNode } from './local-node.js';
import { Progress } from './progress.js';
import type { Terminal } from './terminal.js';
import { objectView } from './views/object-view.js';

/** Repairs a damaged database file: indexes and full text from the rows, rows from the log. */
export const repairCommand = defineCommand({
  name: 'repair',
  summary:
    'Repair a damaged database: build indexes and full text again, and damaged rows from the log. Stop the node first. Exit code 1 when damage is left.',
  flags: [
    {
      name: 'clock',
      kind: 'switch',
      doc: "Only restamp this node's operations that are ahead of the clock, which was ahead once; other nodes refuse them",
    },
    { name: 'dry-run', kind: 'switch', doc: 'With --clock: only say what is ahead' },
  ],
  examples: ['repair', 'repair --json', 'repair --clock --dry-run'],
  run: async (parsed, terminal) => {
    if (isOn(parsed, 'clock')) return await repairClock(parsed, terminal);
    if (isOn(parsed, 'dry-run')) return fail('VALIDATION_FAILED', '--dry-run needs --clock');
    const progress = new Progress(process.stderr, 'repair:');
    let engine: ReturnType<typeof repairFile>;
    try {
      engine = repairFile(settingsFor(parsed), (step) => progress.say(step));
    } finally {
      progress.end();
    }
    if (!engine.ok) return failed(engine.error);
    const { found, indexes, texts, clashes, left } = engine.value;
    return withLocalNode(parsed, async (services, caller) => {
      const rows = await scrubNode(services, systemScheduler, { dryRun: false, agentId: caller.agentId });
      if (!rows.ok) return failed(rows.error);
      const { report } = rows.value;
      const answer = {
        found,
        indexes_rebuilt: indexes,
        texts_indexed: texts,
        clashes,
        rows_repaired: report.repaired.map(({ subject, problem }) => ({ id: subject, problem })),
        suspects: report.suspects,
        lost_operations: report.lost_count,
        left,
      };
      await terminal.print(parsed.flags.has('json') ? `${JSON.stringify(answer)}\n` : objectView(answer));
      return ok(left.length + report.suspects + report.lost_count > 0 ? 1 : 0);
    });
  },
});

const isOn = (parsed: ParsedArguments, flag: string): boolean => parsed.flags.get(flag)?.at(-1) === 'true';

async function repairClock(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const dryRun = isOn(parsed, 'dry-run');
  const reset = resetLogClock(settingsFor(parsed), dryRun);
  if (!reset.ok) return failed(reset.error);
  const { aheadMs, restamped, origin } = reset.value;
  const answer = {
    ahead_seconds: Math.round(aheadMs / 1000),
    operations: restamped,
    restamped: !dryRun && aheadMs > 0,
    origin,
  };
  await terminal.print(parsed.flags.has('json') ? `${JSON.stringify(answer)}\n` : objectView(answer));
  return ok(0);
}
