import { FAMILIES } from '../node/pipeline/operation.js';
import { VERSION } from '../node/version.js';
import { type Command, PROGRAM } from './command.js';
import { GLOBAL_ROWS, type HelpRow, helpText } from './help.js';

const rowsOf = (commands: readonly Command[]): HelpRow[] =>
  commands.map(({ name, summary }) => [name, summary]);

/** The first page of help: every command, by family. */
export function rootHelp(
  commands: readonly (Command & { readonly family: string })[],
  servers: readonly Command[],
  columns: number,
): string {
  return helpText(
    {
      summary: `${PROGRAM} ${VERSION}: a memory for agents`,
      usage: '<command> [options]',
      sections: [
        { title: 'Servers', rows: rowsOf(servers) },
        ...FAMILIES.map((family) => ({
          title: `Commands: ${family}`,
          rows: rowsOf(commands.filter((command) => command.family === family)),
        })),
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
