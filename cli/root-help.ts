import { FAMILIES } from '../node/pipeline/operation.js';
import { VERSION } from '../node/version.js';
import { type Command, PROGRAM } from './command.js';
import { GLOBAL_ROWS, type HelpRow, helpText } from './help.js';
import type { OperationEntry } from './operation-table.js';

const SERVERS: readonly string[] = ['serve', 'mcp', 'sync-daemon'];

type Summarized = Pick<Command, 'name' | 'summary'> | OperationEntry;

/** Commands as rows of help. */
export const rowsOf = (commands: readonly Summarized[]): HelpRow[] =>
  commands.map((each) => ['name' in each ? each.name : each.command, each.summary]);

/** The first page of help: every command, by family. */
export function rootHelp(
  operations: readonly OperationEntry[],
  natives: readonly Command[],
  columns: number,
): string {
  const servers = natives.filter(({ name }) => SERVERS.includes(name));
  return helpText(
    {
      summary: `${PROGRAM} ${VERSION}: a memory for agents`,
      usage: '<command> [options]',
      sections: [
        { title: 'Servers', rows: rowsOf(servers) },
        ...FAMILIES.map((family) => ({
          title: `Commands: ${family}`,
          rows: rowsOf(operations.filter((operation) => operation.family === family)),
        })),
        { title: 'Commands: the node', rows: rowsOf(natives.filter((each) => !servers.includes(each))) },
        {
          title: 'Options of every command',
          rows: [...GLOBAL_ROWS, ['-V, --version', 'Print the version']],
        },
      ],
      examples: ['store --title "Deploy window" --content "Sundays, 02:00 to 04:00 UTC"', 'recall --help'],
    },
    columns,
  );
}

/** The help of a group: its members. */
export function groupHelp(group: string, members: readonly HelpRow[], columns: number): string {
  return helpText(
    {
      summary: `The ${group} commands.`,
      usage: `${group} <command> [options]`,
      sections: [
        { title: 'Commands', rows: members },
        { title: 'Options of every command', rows: GLOBAL_ROWS },
      ],
      examples: [`${members[0]?.[0]} --help`],
    },
    columns,
  );
}
