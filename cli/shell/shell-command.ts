import { createInterface } from 'node:readline';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import { type Command, type CommandTable, PROGRAM } from '../command.js';
import { type CommandTree, commandTree, typedNames } from '../completions/command-tree.js';
import { defineCommand } from '../define-command.js';
import { everyCommand } from '../every-command.js';
import { findCommand } from '../find-command.js';
import { asksForJson, flagValue } from '../global-flags.js';
import { failureOf, failureText } from '../report-failure.js';
import type { Terminal } from '../terminal.js';
import { wordsOf } from './split-line.js';

const HISTORY_LINES = 1000;
const PROMPT = `${PROGRAM}> `;

/** Short words for commands, and words that people try. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  ...{ r: ['recall'], s: ['search'], ls: ['list'], u: ['update'], ns: ['namespaces'] },
  ...{ del: ['delete'], rm: ['delete'], h: ['help'], '?': ['help'] },
};
const QUITS: ReadonlySet<string> = new Set(['quit', 'exit', 'q']);

/** Commands that take the terminal or the input for themselves. */
const OUTSIDE: ReadonlySet<string> = new Set([
  'serve',
  'mcp',
  'shell',
  'wrap',
  'pending watch',
  'inbox-watch',
  'board',
]);

/** The flags of the shell that each of its commands gets too. */
const PASSED_ON = ['db', 'store-url', 'config', 'agent-id'] as const;

/** Reads commands line by line and runs each, as the program would. */
export const shellCommand = (natives: CommandTable): Command =>
  defineCommand({
    name: 'shell',
    summary: 'Type commands one after another, with history and completion; quit ends it.',
    examples: ['shell', 'shell --agent-id ai:me'],
    run: async (parsed, terminal) => {
      const tree = commandTree(await everyCommand(natives));
      const before = PASSED_ON.flatMap((name) => {
        const value = flagValue(parsed, name);
        return value === undefined ? [] : [`--${name}`, value];
      });
      const isPerson = process.stdin.isTTY === true;
      const lines = createInterface({
        ...{ input: process.stdin, output: process.stderr, terminal: isPerson, historySize: HISTORY_LINES },
        ...{ removeHistoryDuplicates: true, prompt: PROMPT },
        completer: (line: string) => completed(line, tree),
      });
      if (isPerson) {
        await terminal.complain('help lists the commands, help <command> explains one, quit ends\n');
        lines.prompt();
      }
      let code = 0;
      for await (const line of lines) {
        const words = wordsOf(line);
        const [first] = words.ok ? words.value : [];
        if (first !== undefined && QUITS.has(first)) break;
        if (first !== undefined || !words.ok) {
          lines.pause();
          code = await evaluated(words, { natives, before, terminal });
          lines.resume();
        }
        if (terminal.closed) break;
        if (isPerson) lines.prompt();
      }
      lines.close();
      return ok(isPerson ? 0 : code);
    },
  });

/** Runs one line; the exit code that it would have. A failure is told and ends nothing. */
async function evaluated(words: Result<readonly string[]>, parts: ShellParts): Promise<number> {
  const { terminal } = parts;
  const typed = words.ok ? words.value : [];
  try {
    const result = words.ok ? await ran(expanded(words.value), parts) : failed(words.error);
    if (result.ok) return result.value;
    await terminal.complain(failureText(result.error, asksForJson(typed), 'help lists the commands'));
  } catch (error) {
    await terminal.complain(failureText(failureOf(error), asksForJson(typed), 'help lists the commands'));
  }
  return 1;
}

interface ShellParts {
  readonly natives: CommandTable;
  /** The flags that each command gets. */
  readonly before: readonly string[];
  readonly terminal: Terminal;
}

async function ran(
  words: readonly string[],
  { natives, before, terminal }: ShellParts,
): Promise<Result<number>> {
  const route = await findCommand([...before, ...words], natives);
  switch (route.kind) {
    case 'help':
      await terminal.print(route.text(terminal.columns));
      return ok(0);
    case 'failure':
      return route.result;
    case 'command':
      if (OUTSIDE.has(route.command.name)) {
        await terminal.complain(`run ${PROGRAM} ${route.command.name} outside of the shell\n`);
        return ok(2);
      }
      return route.command.run(route.words, terminal);
  }
}

/** The words of a command: short names in full, and `update <id> field=value` with flags. */
function expanded([first = '', ...rest]: readonly string[]): readonly string[] {
  const names = Object.hasOwn(ALIASES, first) ? ALIASES[first]! : [first];
  if (names[0] === 'help' && rest.length === 0) return ['--help', '--all'];
  if (names[0] === 'help' && rest[0] !== undefined && Object.hasOwn(ALIASES, rest[0])) {
    return ['help', ...ALIASES[rest[0]]!];
  }
  if (names[0] !== 'update') return [...names, ...rest];
  return ['update', ...rest.flatMap((word, index) => (index === 0 ? [word] : assignment(word)))];
}

function assignment(word: string): readonly string[] {
  const [, name, value] = /^([a-z][a-z_]*)=(.*)$/s.exec(word) ?? [];
  return name === undefined ? [word] : [`--${name.replaceAll('_', '-')}=${value}`];
}

/** What may follow in a line: the first words, the members of a group, the flags of a command. */
export function completed(line: string, tree: CommandTree): [string[], string] {
  const words = line.trimStart().split(/\s+/);
  const last = words.at(-1) ?? '';
  const offered = offeredAfter(words.slice(0, -1), last, tree).filter((word) => word.startsWith(last));
  return [[...new Set(offered)].map((word) => `${word} `), last];
}

function offeredAfter(before: readonly string[], last: string, tree: CommandTree): readonly string[] {
  if (before.length === 0) {
    return [...(tree.next.get('') ?? []).map(({ word }) => word), ...QUITS].filter(
      (word) => !OUTSIDE.has(word),
    );
  }
  const members = tree.next.get(before.join(' '));
  if (members !== undefined && !last.startsWith('-')) return members.map(({ word }) => word);
  const [first = '', second = ''] = before;
  const name = Object.hasOwn(ALIASES, first) ? ALIASES[first]![0]! : first;
  const command = tree.commands.find((each) => each.name === `${name} ${second}` || each.name === name);
  return last.startsWith('-') ? (command?.flags.flatMap(typedNames) ?? []) : [];
}
