import { SETTINGS } from '../node/config/settings.js';
import { defaultText } from '../node/config/settings-table.js';
import { VERSION } from '../node/version.js';
import { type Command, PROGRAM } from './command.js';
import { GLOBAL_ROWS, type HelpRow, typedFlag } from './help.js';
import { EXAMPLES } from './root-help.js';
import { inTask, TASKS } from './tasks.js';

/** What the program ends with; `protocol/base/errors.ts` has the code of each failure. */
const EXITS: readonly HelpRow[] = [
  ['0', 'Done.'],
  ['1', 'Not done: there is no such memory, it is refused, or a check found something.'],
  ['2', 'The words make no call, or a value is wrong.'],
  ['3', 'The action waits for an approval.'],
  ['70', 'The database is damaged, or the program has an error.'],
  ['74', 'The disk is full or read-only.'],
  ['75', 'Not possible now; try again later.'],
  ['78', 'The configuration or a path cannot be used.'],
  ['other', 'As the help of the command says.'],
];

/** The manual page in the macros of man: the same commands, flags and texts that help shows. */
export function manPage(commands: readonly Command[]): string {
  const lines = [
    `.TH ${PROGRAM.toUpperCase()} 1 "" "${PROGRAM} ${VERSION}" "User Commands"`,
    ...section('NAME', [`${PROGRAM} \\- a memory for agents`]),
    ...section('SYNOPSIS', ['.B mnemesh', text('[<command>] [options]')]),
    ...section('DESCRIPTION', [
      text(
        `${PROGRAM} keeps what agents and people want to remember, finds it again, and shares it between nodes. Without a command it says what is here and what can be done.`,
      ),
    ]),
    ...section('EXAMPLES', EXAMPLES.flatMap(example)),
    ...section('OPTIONS', rows([...GLOBAL_ROWS, ['-V, --version', 'Print the version']])),
    ...TASKS.flatMap((task) => [
      ...section(text(task.title.toUpperCase()), []),
      ...inTask(task, commands).flatMap(commandLines),
    ]),
    ...section('ENVIRONMENT', rows(variables())),
    ...section('EXIT STATUS', rows(EXITS)),
    ...section('FILES', rows([['~/.mnemesh', 'The home: the database, keys and config.toml.']])),
  ];
  return `${lines.join('\n')}\n`;
}

function variables(): HelpRow[] {
  return SETTINGS.flatMap((row): HelpRow[] =>
    row.env === undefined ? [] : [[row.env, `${row.doc} Default: ${defaultText(row)}.`]],
  );
}

const section = (title: string, lines: readonly string[]) => [`.SH ${title}`, ...lines];

function commandLines({ name, summary, usage, positionals, flags }: Command): string[] {
  return [
    `.SS ${text(name)}`,
    text(summary),
    '.PP',
    `.B ${text(PROGRAM)}`,
    text(usage),
    ...rows([
      ...positionals.map((each): HelpRow => [`<${each.name}>`, each.doc]),
      ...flags.map((flag): HelpRow => [typedFlag(flag.name, flag.short, flag.value).trim(), flag.doc]),
    ]),
  ];
}

const rows = (all: readonly HelpRow[]) =>
  all.flatMap(([typed, doc]) => ['.TP', `.B ${text(typed)}`, text(doc)]);

const example = (typed: string) => ['.PP', '.nf', text(`${PROGRAM} ${typed}`), '.fi'];

/** A line of text: nothing in it is read as a request, an escape, a quote of an argument, or a dash that breaks. */
function text(words: string): string {
  const escaped = words
    .replace(/\s+/g, ' ')
    .trim()
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('~', '\\(ti')
    .replaceAll('^', '\\(ha')
    .replace(/[^\x20-\x7e]/gu, (character) => {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
      return `\\[u${code}]`;
    });
  return escaped.startsWith('.') ? `\\&${escaped}` : escaped;
}
