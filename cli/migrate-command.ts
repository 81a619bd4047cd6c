import { fail, failed, ok } from '../protocol/base/result.js';
import { PROGRAM } from './command.js';
import { defineCommand } from './define-command.js';
import { flagValue, isSet, settingsFor } from './global-flags.js';
import { Progress } from './progress.js';
import { objectView } from './views/object-view.js';

const BATCH_USUAL = 1000;
const BATCH_MAX = 10_000;

/** Copies the whole database to another storage (reference-mcp-cli §2.2). */
export const migrateCommand = defineCommand({
  name: 'migrate',
  summary: 'Copy the whole database of a node to another file or server; stop the node first.',
  flags: [
    {
      name: 'from',
      kind: 'value',
      value: 'url',
      doc: "Path, sqlite:///path or postgres://…; default this node's database",
    },
    { name: 'to', kind: 'value', value: 'url', doc: "The same, without rows; default this node's database" },
    {
      name: 'batch',
      kind: 'value',
      value: 'number',
      doc: `Rows of one transaction at most (default ${BATCH_USUAL})`,
    },
    { name: 'dry-run', kind: 'switch', doc: 'Only count the rows, and say whether the copy can begin' },
  ],
  examples: [
    'migrate --from ~/.mnemesh/mnemesh.db --to postgres://owner@db.example/notes',
    'migrate --from postgres://owner@db.example/notes --to sqlite:///var/lib/mnemesh/notes.db --json',
  ],
  run: async (parsed, terminal) => {
    const batch = Number(flagValue(parsed, 'batch') ?? BATCH_USUAL);
    if (!Number.isInteger(batch) || batch < 1 || batch > BATCH_MAX)
      return fail('VALIDATION_FAILED', `--batch must be a number from 1 to ${BATCH_MAX}`, {
        fields: ['batch'],
      });
    const [from, to] = ['from', 'to'].map((name) => flagValue(parsed, name) ?? null);
    if (from === null && to === null)
      return fail('VALIDATION_FAILED', 'migrate needs --from or --to', { fields: ['from', 'to'] });
    // Every user of the machine sees the words of a process, and an address may hold a password.
    process.title = PROGRAM;
    const settings = settingsFor(parsed);
    const { migrateDatabase } = await import('../node/runtime/migrate-database.js');
    const progress = new Progress(process.stderr, 'migrate:');
    const dryRun = isSet(parsed, 'dry-run');
    let done: ReturnType<typeof migrateDatabase>;
    try {
      done = migrateDatabase(settings, from!, to!, {
        ...{ batchRows: batch, dryRun },
        step: (what, table, rows, of) => progress.say(`${what} ${table} ${rows}/${of}`),
      });
    } finally {
      progress.end();
    }
    if (!done.ok) return failed(done.error);
    const { rows, written, batches, resumed, digest } = done.value;
    const answer = {
      ...{ from_url: done.value.from, to_url: done.value.to, dry_run: dryRun, resumed, batches },
      ...{ memories_read: rows['memories'] ?? 0, memories_written: written['memories'] ?? 0 },
      ...{
        links_read: rows['memory_links'] ?? 0,
        links_written: written['memory_links'] ?? 0,
        links_skipped: 0,
      },
      ...{ errors: [], verified: digest !== null, digest, rows },
    };
    await terminal.print(
      isSet(parsed, 'json')
        ? `${JSON.stringify(answer)}\n`
        : `${objectView(answer)}${dryRun ? '' : LAST_WORDS}`,
    );
    return ok(0);
  },
});

const LAST_WORDS =
  'The copy is the same node. Keep the source as a backup, and start no node on it: both would continue one log.\n';
