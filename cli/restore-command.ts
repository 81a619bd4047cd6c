import { failed, ok } from '../protocol/base/result.js';
import { copySteps } from './copy-steps.js';
import { defineCommand } from './define-command.js';
import { flagValue, settingsFor } from './global-flags.js';
import { Progress } from './progress.js';

/** Replaces the database by a backup (reference-mcp-cli §2.2). */
export const restoreCommand = defineCommand({
  name: 'restore',
  summary: 'Replace the database by a backup; the old file is kept next to it. Stop the node first.',
  flags: [
    { name: 'from', kind: 'value', value: 'file', path: 'file', required: true, doc: 'The backup' },
    {
      name: 'skip-verify',
      kind: 'switch',
      doc: 'Accept a backup without its manifest; the database itself is still checked',
    },
  ],
  examples: ['restore --from ./backups/mnemesh.db-20260101T120000000Z-1a2b3c4d.db'],
  run: async (parsed, terminal) => {
    const from = flagValue(parsed, 'from') as string;
    const settings = settingsFor(parsed);
    const { restore } = await import('../node/runtime/backup.js');
    const progress = new Progress(process.stderr, 'restore:');
    const skipVerify = parsed.flags.get('skip-verify')?.at(-1) === 'true';
    let done: ReturnType<typeof restore>;
    try {
      done = restore(settings, from, skipVerify, copySteps(progress));
    } finally {
      progress.end();
    }
    if (!done.ok) return failed(done.error);
    const { keptAs, schemaVersion, dbEpoch, quarantinedSubscriptions } = done.value;
    const answer = {
      restored: true,
      from,
      db: settings.dbPath,
      kept_as: keptAs,
      schema_version: schemaVersion,
      db_epoch: dbEpoch,
      quarantined_subscriptions: quarantinedSubscriptions,
    };
    await terminal.print(
      parsed.flags.has('json')
        ? `${JSON.stringify(answer)}\n`
        : `restored: ${settings.dbPath}${keptAs === null ? '' : `; the old database is kept as ${keptAs}`}\n${restingLine(quarantinedSubscriptions)}`,
    );
    return ok(0);
  },
});

/** What the operator must do for subscriptions that get nothing. */
const restingLine = (count: number): string =>
  count === 0
    ? ''
    : `${count} subscriptions to events are quarantined; "subscription-replay <id> <since> --resend" resumes one\n`;
