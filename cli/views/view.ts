import type { CliOperation } from '../operation-flags.js';
import { memoriesView } from './memories-view.js';
import { memoryView } from './memory-view.js';
import { objectView } from './object-view.js';
import { oneLine } from './text.js';
import { treeView } from './tree-view.js';

type Fields = Record<string, unknown>;

/** An answer for people; the binding names the view. */
export function viewOf(operation: CliOperation, answer: Fields, columns: number): string {
  const { view, message, positionals, table, viewDefaults } = operation.cli;
  switch (view) {
    case 'memory':
      return memoryView(answer);
    case 'memories': {
      const rows = (operation.rows === undefined ? [] : answer[operation.rows]) as Fields[];
      const texts =
        viewDefaults?.['content'] !== undefined ? 'all' : positionals === undefined ? 'none' : 'line';
      return memoriesView(answer, rows, { columns, texts });
    }
    case 'tree':
      return operation.picture === undefined
        ? objectView(answer, { columns })
        : treeView(operation.picture(answer), columns);
    case 'message':
      if (message === undefined) return objectView(answer, { columns });
      return [message(answer)]
        .flat()
        .map((line) => `${oneLine(line)}\n`)
        .join('');
    case 'object':
      return objectView(answer, { columns, table });
  }
}
