import { existsSync } from 'node:fs';
import { absolutePath, realPath } from '../../node/config/paths.js';
import type { Caller } from '../../node/identity/caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { memoryExport } from '../../node/operations/lifecycle/memory-export.js';
import { memoryImport } from '../../node/operations/lifecycle/memory-import.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { NO_CATALOGUE, openInlineNode } from '../../node/runtime/inline-node.js';
import { openRunner } from '../../node/runtime/open-runner.js';
import { EXPORT_PAGE_SIZE } from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { defineCommand } from '../define-command.js';
import { flagValue, isSet, settingsFor } from '../global-flags.js';
import { withLocalRunner } from '../local-node.js';

const EXIT_REFUSED = 1;

/** What became of the rows of one direction. */
interface Moved {
  new: number;
  update: number;
  noop: number;
  links: number;
  failed: number;
}

interface Way {
  readonly from: LocalRunner;
  readonly to: LocalRunner;
  readonly caller: Caller;
  readonly trusted: boolean;
  readonly isDry: boolean;
  readonly complain: (text: string) => Promise<void>;
}

/** Copies what another database of this machine has and this one has not, and the other way round. */
export const syncCommand = defineCommand({
  name: 'sync',
  summary: 'Exchange memories, links and records with another database file of this machine, once.',
  positionals: [{ name: 'remote-db', doc: 'The other database file', path: 'file' }],
  flags: [
    {
      ...{ name: 'direction', short: 'd', kind: 'value', value: 'way', choices: ['pull', 'push', 'merge'] },
      doc: 'pull from the other file, push into it, or both (merge, by default)',
    },
    {
      name: 'trust-source',
      kind: 'switch',
      doc: 'Keep the agents of the rows, and the attestations of the links',
    },
    { name: 'dry-run', kind: 'switch', doc: 'Only say what would become of the memories' },
  ],
  examples: [
    'sync /mnt/stick/mnemesh.db --dry-run',
    'sync ../old/mnemesh.db --direction pull --trust-source',
  ],
  run: async (parsed, terminal) => {
    const settings = settingsFor(parsed);
    const path = realPath(absolutePath(parsed.positionals[0]!));
    if (!existsSync(path)) return fail('NOT_FOUND', `there is no database at ${path}`);
    if (settings.storeUrl === null && path === settings.dbPath) {
      return fail('VALIDATION_FAILED', `${path} is the database of this node itself: name another file`);
    }
    const direction = flagValue(parsed, 'direction') ?? 'merge';
    const other = { ...settings, storeUrl: null, dbPath: path };
    const remote = openRunner(other, () => openInlineNode(other, 'cli', NO_CATALOGUE));
    const isDry = isSet(parsed, 'dry-run');
    const common = {
      trusted: isSet(parsed, 'trust-source'),
      isDry,
      complain: (text: string) => terminal.complain(text),
    };
    try {
      return await withLocalRunner(parsed, async (local, caller) => {
        const pull =
          direction === 'push' ? null : await moved({ ...common, from: remote, to: local, caller });
        if (pull !== null && !pull.ok) return failed(pull.error);
        const push =
          direction === 'pull' ? null : await moved({ ...common, from: local, to: remote, caller });
        if (push !== null && !push.ok) return failed(push.error);
        const counts = { pull: pull?.value ?? null, push: push?.value ?? null };
        const answer = answerOf(direction, isDry, counts);
        const text = textOf(path, isDry, counts);
        await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify(answer)}\n` : text);
        return ok((counts.pull?.failed ?? 0) + (counts.push?.failed ?? 0) === 0 ? 0 : EXIT_REFUSED);
      });
    } finally {
      await remote.close();
    }
  },
});

/** Takes the export of one side page by page into the other. */
async function moved({ from, to, caller, trusted, isDry, complain }: Way): Promise<Result<Moved>> {
  const sum: Moved = { new: 0, update: 0, noop: 0, links: 0, failed: 0 };
  const ask = async (runner: LocalRunner, operation: Operation, input: Readonly<Record<string, unknown>>) =>
    runner.run(operation, { surface: 'cli', caller, input, unknownFields: 'refuse' });
  for (let cursor: string | undefined; ; ) {
    const page = await ask(from, memoryExport, {
      limit: EXPORT_PAGE_SIZE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (!page.ok) return failed(page.error);
    const { memories, links, records = [], next_cursor: next } = page.value as unknown as ExportPage;
    const rows = { memories, links, records, trust_source: trusted, dry_run: isDry, list_changes: true };
    const taken = await ask(to, memoryImport, rows);
    if (!taken.ok) return failed(taken.error);
    const { created = {}, updated = {}, errors, ...counts } = taken.value as unknown as ImportAnswer;
    sum.new += Object.keys(created).length;
    sum.update += Object.keys(updated).length;
    sum.noop += memories.length - Object.keys(created).length - Object.keys(updated).length - counts.failed;
    sum.links += isDry ? links.length : counts.links;
    sum.failed += counts.failed;
    for (const error of errors) await complain(`${error}\n`);
    if (next === undefined) return ok(sum);
    cursor = next;
  }
}

interface ExportPage {
  readonly memories: readonly unknown[];
  readonly links: readonly unknown[];
  readonly records?: readonly unknown[];
  readonly next_cursor?: string;
}

interface ImportAnswer {
  readonly created?: Readonly<Record<string, number>>;
  readonly updated?: Readonly<Record<string, number>>;
  readonly links: number;
  readonly failed: number;
  readonly errors: readonly string[];
}

interface Counts {
  readonly pull: Moved | null;
  readonly push: Moved | null;
}

const changed = (counts: Moved | null) => (counts === null ? 0 : counts.new + counts.update);

function answerOf(direction: string, isDry: boolean, { pull, push }: Counts): object {
  if (isDry)
    return {
      dry_run: true,
      direction,
      ...(pull === null ? {} : { pull }),
      ...(push === null ? {} : { push }),
    };
  const refused = (pull?.failed ?? 0) + (push?.failed ?? 0);
  const end = refused === 0 ? {} : { failed: refused };
  if (direction === 'pull') return { direction, imported: changed(pull), ...end };
  if (direction === 'push') return { direction, exported: changed(push), ...end };
  return { direction, pulled: changed(pull), pushed: changed(push), ...end };
}

function textOf(path: string, isDry: boolean, { pull, push }: Counts): string {
  const did = isDry ? 'would be' : 'were';
  const line = (counts: Moved | null, way: string) =>
    counts === null
      ? ''
      : `${way} ${path}: ${counts.new} memories ${did} new, ${counts.update} ${did} changed, ${counts.noop} stayed, ${counts.failed} rows ${did} refused\n`;
  return line(pull, 'from') + line(push, 'into');
}
