import { VERSION } from '../node/version.js';
import { type Command, PROGRAM } from './command.js';
import { GLOBAL_ROWS, type HelpRow, helpText } from './help.js';
import type { OperationEntry } from './operation-table.js';
import { inTask, TASKS } from './tasks.js';

type Summarized = Pick<Command, 'name' | 'summary'> | OperationEntry;

const nameOf = (each: Summarized) => ('name' in each ? each.name : each.command);

/** Commands as rows of help. */
export const rowsOf = (commands: readonly Summarized[]): HelpRow[] =>
  commands.map((each) => [nameOf(each), each.summary]);

const SUMMARY = `${PROGRAM} ${VERSION}: a memory for agents`;
const USAGE = '<command> [options]';
/** The calls that a newcomer tries first. */
export const EXAMPLES = ['store "We deploy on Sundays, 02:00 to 04:00 UTC"', 'recall "when may we deploy?"'];

/** The first page of help, for a small screen: the commands that are used often, by what they are for. */
export function firstHelp(columns: number): string {
  return helpText(
    {
      summary: SUMMARY,
      usage: USAGE,
      sections: [
        { title: 'Commands', rows: TASKS.map(({ title, often }): HelpRow => [title, often.join(', ')]) },
        {
          title: 'More',
          rows: [
            ['help <command>', 'What a command does, its options and examples'],
            ['help --all', 'All commands, and the options that each of them takes'],
          ],
        },
      ],
      examples: EXAMPLES,
    },
    columns,
  );
}

/** The whole help: every command by what it is for, with its summary. */
export function allHelp(commands: readonly Summarized[], columns: number): string {
  const named = commands.map((each) => ({ name: nameOf(each), summary: each.summary }));
  return helpText(
    {
      summary: SUMMARY,
      usage: USAGE,
      sections: [
        ...TASKS.map((task) => ({ title: task.title, rows: rowsOf(inTask(task, named)) })),
        {
          title: 'Options of every command',
          rows: [...GLOBAL_ROWS, ['-V, --version', 'Print the version']],
        },
      ],
      examples: EXAMPLES,
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
