import { BACKUPS_KEPT } from '../protocol/base/limits.js';
import { fail, failed, ok } from '../protocol/base/result.js';
import { SCHEMA_VERSION } from '../protocol/base/schema-version.js';
import { StartRefusedError } from '../protocol/base/start-refused.js';
import { copySteps } from './copy-steps.js';
import { defineCommand } from './define-command.js';
import { flagValue, settingsFor } from './global-flags.js';
import { withLocalNode } from './local-node.js';
import { noteCopy } from './note-copy.js';
import { Progress } from './progress.js';

/** Copies the database while the node runs (reference-mcp-cli §2.2). */
export const backupCommand = defineCommand({
  name: 'backup',
  summary: 'Copy the database with a checksummed manifest; the node may be running.',
  flags: [
    {
      name: 'to',
      kind: 'value',
      value: 'folder',
      path: 'folder',
      doc: 'Folder for the backups (default ./backups)',
    },
    {
      name: 'keep',
      kind: 'value',
      value: 'number',
      doc: `Backups of this database to keep in the folder (default ${BACKUPS_KEPT})`,
    },
  ],
  examples: ['backup', 'backup --to /var/backups/mnemesh --keep 7'],
  run: async (parsed, terminal) => {
    const keep = flagValue(parsed, 'keep') ?? String(BACKUPS_KEPT);
    if (!/^[1-9]\d{0,5}$/.test(keep)) return fail('VALIDATION_FAILED', '--keep must be a number, 1 or more');
    const { backUp } = await import('../node/runtime/backup.js');
    const progress = new Progress(process.stderr, 'backup:');
    const folder = flagValue(parsed, 'to') ?? './backups';
    let made: ReturnType<typeof backUp>;
    try {
      made = backUp(settingsFor(parsed), folder, Number(keep), copySteps(progress));
    } finally {
      progress.end();
    }
    if (!made.ok) return failed(made.error);
    const { path, manifestPath, manifest, pruned, unfinished } = made.value;
    // A database of an earlier release is copied as it is, and not opened.
    if (manifest.schema_version === SCHEMA_VERSION) {
      try {
        await withLocalNode(parsed, async ({ store }) => {
          await noteCopy(store, 'backup', path);
          return ok(0);
        });
      } catch (error) {
        // A disk that takes no writes can be backed up all the same; nothing can be erased on it either.
        if (!(error instanceof StartRefusedError)) throw error;
      }
    }
    const answer = { path, manifest_path: manifestPath, ...manifest, pruned, unfinished };
    await terminal.print(
      parsed.flags.has('json')
        ? `${JSON.stringify(answer)}\n`
        : `backup: ${path} (${manifest.bytes} bytes)${removedText(pruned, unfinished)}\n`,
    );
    return ok(0);
  },
});

function removedText(pruned: number, unfinished: number): string {
  const removed = [
    ...(pruned > 0 ? [`${pruned} older`] : []),
    ...(unfinished > 0 ? [`${unfinished} unfinished`] : []),
  ];
  return removed.length === 0 ? '' : `; removed ${removed.join(', ')}`;
}
