import { FAMILIES } from '../node/pipeline/operation.js';
import { VERSION } from '../node/version.js';
import { type Command, PROGRAM } from './command.js';
import { GLOBAL_ROWS, type HelpRow, helpText } from './help.js';

const SERVERS: readonly string[] = ['serve', 'mcp', 'sync-daemon'];

const rowsOf = (commands: readonly Command[]): HelpRow[] =>
  commands.map(({ name, summary }) => [name, summary]);

/** The first page of help: every command, by family. */
export function rootHelp(
  operations: readonly (Command & { readonly family: string })[],
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
          rows: rowsOf(operations.filter((command) => command.family === family)),
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
export function groupHelp(group: string, members: readonly Command[], columns: number): string {
  return helpText(
    {
      summary: `The ${group} commands.`,
      usage: `${group} <command> [options]`,
      sections: [
        { title: 'Commands', rows: rowsOf(members) },
        { title: 'Options of every command', rows: GLOBAL_ROWS },
      ],
      examples: [`${members[0]?.name} --help`],
    },
    columns,
  );
}
