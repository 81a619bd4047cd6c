type Cell = string | number | null;

/** Figures side by side, the limit of the same run among them. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** What a reader must know to judge the figures. */
  readonly notes?: readonly string[];
}

/** What a benchmark hands back: tables for people, a document for programs. */
export interface BenchResult {
  readonly tables: readonly Table[];
  readonly json: unknown;
}

function shown(cell: Cell): string {
  if (cell === null) return '-';
  if (typeof cell === 'string') return cell;
  if (!Number.isFinite(cell)) return '-';
  if (Number.isInteger(cell)) return cell.toLocaleString('en-US');
  const size = Math.abs(cell);
  if (size >= 1000) return Math.round(cell).toLocaleString('en-US');
  return cell.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** A table as aligned text. */
export function renderTable(table: Table): string {
  const lines = [table.columns, ...table.rows.map((row) => row.map(shown))];
  const widths = table.columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const numeric = table.columns.map((_, at) => table.rows.some((row) => typeof row[at] === 'number'));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (numeric[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd();
  const [head, ...body] = lines;
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  const notes = (table.notes ?? []).map((note) => `  ${note}`);
  return [table.title, '', line(head!), rule, ...body.map(line), ...notes, ''].join('\n');
}
