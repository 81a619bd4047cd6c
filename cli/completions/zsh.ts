import { type DocumentedFlag, type Positional, PROGRAM, wordsOf } from '../command.js';
import { GLOBAL_FLAGS } from '../global-flags.js';
import {
  ALL_COMMANDS,
  type CommandNode,
  type CommandTree,
  HELP,
  type NextWord,
  quoted,
} from './command-tree.js';

/** The completion script for zsh: a file for a folder of `fpath`, or to be sourced. */
export function zshCompletions(tree: CommandTree): string {
  const groups = [...tree.next.keys()].filter((name) => name !== '');
  return `#compdef ${PROGRAM}
# Completions of ${PROGRAM} for zsh.
${[...tree.next].map(([before, words]) => level(before, words, tree, groups)).join('\n')}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _${PROGRAM} "$@"
else
  compdef _${PROGRAM} ${PROGRAM}
fi
`;
}

const functionOf = (group: string) =>
  group === '' ? `_${PROGRAM}` : `_${PROGRAM}_${group.replaceAll('-', '_')}`;

/** The function that completes the words after the program, or after a group. */
function level(
  before: string,
  words: readonly NextWord[],
  tree: CommandTree,
  groups: readonly string[],
): string {
  const cases = words.map(({ word }) => {
    const name = before === '' ? word : `${before} ${word}`;
    const command = tree.commands.find((each) => each.name === name);
    if (command !== undefined) return `        ${word}) ${commandArguments(command)} ;;`;
    return groups.includes(name) ? `        ${word}) ${functionOf(name)} ;;` : null;
  });
  const flags = before === HELP ? [...GLOBAL_FLAGS, ALL_COMMANDS] : GLOBAL_FLAGS;
  return [
    `${functionOf(before)}() {`,
    '  local curcontext="$curcontext" state line ret=1',
    '  typeset -A opt_args',
    `  _arguments -C ${flags.map(flagSpec).join(' ')} '1:command:->command' '*::argument:->arguments' && ret=0`,
    '  case $state in',
    '    command)',
    '      local -a commands',
    `      commands=(${words.map(({ word, summary }) => quoted(`${word}:${plain(summary)}`)).join(' ')})`,
    "      _describe -t commands 'command' commands && ret=0",
    '      ;;',
    '    arguments)',
    '      case $words[1] in',
    ...cases.filter((row) => row !== null),
    '      esac',
    '      ret=0',
    '      ;;',
    '  esac',
    '  return ret',
    '}',
  ].join('\n');
}

function commandArguments({ flags, positionals }: CommandNode): string {
  return `_arguments ${[...flags.map(flagSpec), ...positionals.map(positionalSpec)].join(' ')}`;
}

function flagSpec(flag: DocumentedFlag): string {
  const value = flag.kind === 'switch' ? '' : `:${plain(flag.value ?? flag.name)}:${action(flag)}`;
  const doc = `[${plain(flag.doc)}]`;
  const star = flag.kind === 'list' ? '*' : '';
  const long = quoted(`${star}--${flag.name}${value === '' ? '' : '='}${doc}${value}`);
  return flag.short === undefined ? long : `${long} ${quoted(`${star}-${flag.short}${doc}${value}`)}`;
}

/** A free word has an empty list: the message of a value without one would keep zsh from completing flags in its place. */
const positionalSpec = (each: Positional) =>
  quoted(
    `${each.required === false ? ':' : ''}:${plain(each.name)}:${action(each) === ' ' ? '( )' : action(each)}`,
  );

function action({ path, ...words }: Pick<DocumentedFlag, 'choices' | 'suggestions' | 'path'>): string {
  const offered = wordsOf(words);
  if (offered !== undefined) return `(${offered.join(' ')})`;
  if (path === undefined) return ' ';
  return path === 'folder' ? '_files -/' : '_files';
}

/** Text without the characters that have a meaning in these specifications. */
const plain = (text: string) =>
  text
    .replace(/[[\]:\\]/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
