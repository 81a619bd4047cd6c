import { memoryDelete } from '../../node/operations/lifecycle/memory-delete.js';
import { memoryUndoEdit } from '../../node/operations/lifecycle/memory-undo-edit.js';
import type { Answer } from '../../node/pipeline/answer.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import { oneLine } from '../views/text.js';
import { counted, filled, note, withCounts } from './counts.js';
import { type ImportedRow, type Importing, importedRow, inTurns, isUntouched } from './imported-rows.js';
import { type ImportRun, isBroughtBack } from './run-journal.js';

const ASKED_AT_ONCE = 16;

/** What became of the memories of a run that was taken back. */
export class UndoReport {
  removed = 0;
  restored = 0;
  waiting = 0;
  /** Not here any more, or never written. */
  gone = 0;
  left = 0;
  links = 0;
  /** Records of an export, which stay. */
  records = 0;
  readonly reasons: string[] = [];
  /** The versions of the memories that got their text back. */
  readonly versions = new Map<string, number>();

  constructor(
    private readonly run: string,
    private readonly dryRun: boolean,
  ) {}

  leave({ id, title }: Pick<ImportedRow, 'id' | 'title'>, why: string): void {
    this.left += 1;
    note(this.reasons, `memory ${id} "${oneLine(title)}" stays: ${why}`);
  }

  /** Takes the answer of the call that took a memory back; null in a dry run. */
  note(done: Answer | null, kind: 'removed' | 'restored', row: Pick<ImportedRow, 'id' | 'title'>): void {
    if (done === null || (done.ok && done.waits !== true)) {
      this[kind] += 1;
      if (done?.ok === true && kind === 'restored')
        this.versions.set(row.id, (done.value['memory'] as ImportedRow).version);
    } else if (done.ok) this.waiting += 1;
    else if (done.error.code === 'NOT_FOUND') this.gone += 1;
    else this.leave(row, done.error.message);
  }

  json(): Record<string, unknown> {
    const { run, removed, restored, waiting, gone, left, links, records, reasons } = this;
    return {
      ...(this.dryRun ? { dry_run: true } : {}),
      ...{ run, removed, restored, waiting, gone, left },
      ...(links === 0 ? {} : { links }),
      ...(records === 0 ? {} : { records_left: records }),
      ...filled({ reasons }),
    };
  }

  sentence(): string {
    const { removed, restored, waiting, gone, left, links, records, run } = this;
    const done = this.dryRun ? 'would remove' : 'removed';
    const what = `${done} ${counted(removed, 'memory', 'memories')} of import ${run}`;
    return withCounts(what, [
      [restored, `${restored} brought back to the text before`],
      [waiting, `${waiting} wait for approval`],
      [gone, `${gone} not here any more`],
      [links, `${counted(links, 'more link')} removed`],
      [left, `${left} left as they are`],
      [records, `${records} records stay, because others may rely on them`],
    ]);
  }
}

export interface UndoChoices {
  readonly report: UndoReport;
  readonly dryRun: boolean;
  /** The runs of this database after that one, the first one first. */
  readonly later: readonly ImportRun[];
}

/**
 * Takes back what a run of `import` made: its memories are deleted, and those that it brought up to date get their text
 * back. What somebody changed since, also a later run, stays.
 */
export async function undoImport(
  importing: Importing,
  { run, rows }: ImportRun,
  { report, dryRun, later }: UndoChoices,
): Promise<Result<null>> {
  const call = (operation: Operation, input: Record<string, unknown>) =>
    importing.runner.run(operation, {
      ...{ surface: 'cli', caller: importing.caller, input, unknownFields: 'refuse' },
    });
  const takeBack = async (row: ImportedRow): Promise<void> => {
    const isMade = row.metadata['import_run'] === run;
    const isChanged = row.metadata['import_updated_by'] === run;
    if (!isMade && !isChanged) {
      report.gone += 1;
      return;
    }
    if (!isUntouched(row) && !isBroughtBack(later, row)) return report.leave(row, 'it was changed since');
    const by = row.metadata['import_updated_by'];
    if (isMade && by !== undefined && by !== run)
      return report.leave(row, `import ${String(by)} changed it since: take that one back first`);
    const kind = isMade ? 'removed' : 'restored';
    const done = dryRun
      ? null
      : await (isMade
          ? call(memoryDelete, { id: row.id, expected_version: row.version })
          : call(memoryUndoEdit, { id: row.id }));
    report.note(done, kind, row);
  };
  const results = await inTurns(rows, ASKED_AT_ONCE, async (uri): Promise<Result<null>> => {
    const found = await importedRow(importing, uri);
    if (!found.ok) return failed(found.error);
    if (found.value === null) report.gone += 1;
    else await takeBack(found.value);
    return ok(null);
  });
  return results.find((result) => !result.ok) ?? ok(null);
}
