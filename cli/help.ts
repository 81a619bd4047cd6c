import { PROGRAM } from './command.js';
import { GLOBAL_FLAGS } from './global-flags.js';
import { displayWidth, pad, wrap } from './views/text.js';

/** A line of help: what is typed, and what it does. */
export type HelpRow = readonly [typed: string, doc: string];

export interface HelpPage {
  readonly summary: string;
  readonly usage: string;
  readonly sections: readonly { readonly title: string; readonly rows: readonly HelpRow[] }[];
  /** Without the program's name. */
  readonly examples: readonly string[];
}

const TYPED_COLUMNS_MAX = 34;

/** A flag as help shows it: `-n, --namespace <text>`. */
export function typedFlag(name: string, short: string | undefined, value: string | undefined): string {
  return `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` <${value}>`}`;
}

export const GLOBAL_ROWS: readonly HelpRow[] = GLOBAL_FLAGS.map(({ name, short, value, doc }) => [
  typedFlag(name, short, value),
  doc,
]);

/** A page of help for a person, wrapped to the terminal. */
export function helpText(page: HelpPage, columns: number): string {
  const lines = [page.summary, '', `Usage: ${PROGRAM} ${page.usage}`];
  for (const { title, rows } of page.sections) {
    if (rows.length > 0) lines.push('', `${title}:`, ...rowLines(rows, columns));
  }
  if (page.examples.length > 0) {
    lines.push('', 'Examples:', ...page.examples.map((example) => `  ${PROGRAM} ${example}`));
  }
  return `${lines.join('\n')}\n`;
}

function rowLines(rows: readonly HelpRow[], columns: number): string[] {
  const widths = rows.map(([typed]) => displayWidth(typed)).filter((width) => width <= TYPED_COLUMNS_MAX);
  const left = Math.max(0, ...widths) + 4;
  const right = Math.max(24, columns - left);
  return rows.flatMap(([typed, doc]) => {
    const docLines = wrap(doc, right).map((line) => ' '.repeat(left) + line);
    const head = `  ${typed}`;
    if (displayWidth(head) + 2 > left) return [head, ...docLines];
    return [pad(head, left) + (docLines[0] ?? '').trimStart(), ...docLines.slice(1)].map((line) =>
      line.trimEnd(),
    );
  });
}
