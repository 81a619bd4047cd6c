import { memoryGet } from '../../node/operations/core/memory-get.js';
import { memoryUnlink } from '../../node/operations/graph/memory-unlink.js';
import { memoryDelete } from '../../node/operations/lifecycle/memory-delete.js';
import { memoryUndoEdit } from '../../node/operations/lifecycle/memory-undo-edit.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { type Importing, inTurns } from './imported-rows.js';
import { type ImportRun, isBroughtBack } from './run-journal.js';
import type { UndoChoices } from './undo-import.js';

const ASKED_AT_ONCE = 16;

/** A memory as the run left it. */
interface Left {
  readonly id: string;
  readonly version: number;
}

/**
 * Takes back what an import of an export did: the memories that it made are deleted, those that it changed get their
 * text back, the links that it made between memories that stay are removed. What changed since, also in a later run,
 * stays, and so do its records.
 */
export async function undoExport(
  importing: Importing,
  run: ImportRun,
  choices: UndoChoices,
): Promise<Result<null>> {
  if (!importing.caller.viewer.all)
    return fail('ADMIN_REQUIRED', 'this takes back memories of every agent: run it without SVC_AGENT_ID');
  const made = new Map(run.calls.flatMap((call) => Object.entries(call.made)));
  const changed = new Map(
    run.calls.flatMap((call) => Object.entries(call.changed)).filter(([id]) => !made.has(id)),
  );
  // A run that went on after a kill may have changed what it had made before.
  for (const call of run.calls)
    for (const [id, version] of Object.entries(call.changed)) if (made.has(id)) made.set(id, version);
  const back = new TakingBack(importing, choices);
  const removed = await inTurns(rowsOf(made), ASKED_AT_ONCE, (row) => back.remove(row));
  // The last change first: a title may have gone from one memory to another.
  const restored = await inTurns(rowsOf(changed).reverse(), 1, (row) => back.restore(row));
  const links = run.calls.flatMap((call) => call.links);
  const unlinked = await inTurns(links, ASKED_AT_ONCE, (link) => back.unlink({ ...link }));
  choices.report.records = run.calls.reduce((sum, call) => sum + call.records, 0);
  return [...removed, ...restored, ...unlinked].find((result) => !result.ok) ?? ok(null);
}

const rowsOf = (versions: ReadonlyMap<string, number>): Left[] =>
  [...versions].map(([id, version]) => ({ id, version }));

class TakingBack {
  /** The last run that wrote a memory after this one. */
  private readonly writtenBy = new Map<string, string>();

  constructor(
    private readonly importing: Importing,
    private readonly choices: UndoChoices,
  ) {
    for (const { run, undone_at, calls } of choices.later) {
      if (undone_at !== null) continue;
      for (const { made, changed } of calls)
        for (const id of [...Object.keys(made), ...Object.keys(changed)]) this.writtenBy.set(id, run);
    }
  }

  remove = (row: Left) => this.takeBack(row, memoryDelete, 'removed');
  restore = (row: Left) => this.takeBack(row, memoryUndoEdit, 'restored');

  async unlink(link: Readonly<Record<string, unknown>>): Promise<Result<null>> {
    const { report, dryRun } = this.choices;
    if (dryRun) return ok(null);
    const answer = await this.call(memoryUnlink, link);
    if (!answer.ok) return failed(answer.error);
    report.links += answer.waits === true ? 0 : Number(answer.value['deleted']);
    return ok(null);
  }

  private async takeBack(
    { id, version }: Left,
    operation: Operation,
    kind: 'removed' | 'restored',
  ): Promise<Result<null>> {
    const { report, dryRun, later } = this.choices;
    const found = await this.call(memoryGet, { id });
    if (!found.ok && found.error.code !== 'NOT_FOUND') return failed(found.error);
    const row = found.ok ? (found.value['memory'] as Left & { readonly title: string }) : null;
    // An id is also a prefix of others.
    if (row === null || row.id !== id) {
      report.gone += 1;
      return ok(null);
    }
    const by = this.writtenBy.get(id);
    if (by !== undefined) report.leave(row, `import ${by} wrote it since: take that one back first`);
    else if (row.version !== version && !isBroughtBack(later, row)) report.leave(row, 'it was changed since');
    else {
      const input = kind === 'removed' ? { id, expected_version: row.version } : { id };
      report.note(dryRun ? null : await this.call(operation, input), kind, row);
    }
    return ok(null);
  }

  private call(operation: Operation, input: Readonly<Record<string, unknown>>) {
    const { runner, caller } = this.importing;
    return runner.run(operation, { surface: 'cli', caller, input, unknownFields: 'refuse' });
  }
}
