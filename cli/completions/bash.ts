import { PROGRAM, wordsOf } from '../command.js';
import {
  ALL_COMMANDS,
  type CommandNode,
  type CommandTree,
  GLOBAL_VALUE_FLAGS,
  HELP,
  quoted,
  typedNames,
} from './command-tree.js';

/** The completion script for bash, 3.2 or later; it needs no other completion package. */
export function bashCompletions(tree: CommandTree): string {
  const groups = [...tree.next.keys()].filter((name) => name !== '' && name !== HELP);
  const levels = [...tree.next].filter(([before]) => before !== HELP);
  return `# Completions of ${PROGRAM} for bash.
_${PROGRAM}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= skip= word i flags= values= files=
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $prev == '=' ]]; then
    prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $skip ]]; then
      [[ $word == '=' ]] || skip=
      continue
    fi
    case $word in
      ${GLOBAL_VALUE_FLAGS.join('|')}) skip=1 ;;
      -*) ;;
      *)
        if [[ -z $command ]]; then
          command=$word
        else
          command="$command $word"
          break
        fi
        case $command in
          ${groups.length === 0 ? "''" : groups.map(quoted).join('|')}|${HELP}) [[ $command == ${HELP} ]] && { command=; flags=--${ALL_COMMANDS.name}; } ;;
          *) break ;;
        esac
        ;;
    esac
  done
  local IFS=$'\\n'
  case $command in
${levels.map(([before, words]) => `    ${quoted(before)}) values=${lines(words.map(({ word }) => word))} ;;`).join('\n')}
${tree.commands.map(commandCase).join('\n')}
  esac
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    if [[ $files == folder ]]; then COMPREPLY=($(compgen -d -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi
  elif [[ -n $values && $cur != -* ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$cur"))
  elif [[ -n $flags ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  fi
}
complete -F _${PROGRAM} ${PROGRAM}
`;
}

/** Words separated by line feeds, as bash reads them. */
const lines = (words: readonly string[]): string => `$'${words.map(escaped).join('\\n')}'`;

const escaped = (word: string) => word.replaceAll('\\', '\\\\').replaceAll("'", "\\'");

/** The words that may follow each flag of a command, and the words without a flag. */
function commandCase({ name, flags, positionals }: CommandNode): string {
  const names = (flag: (typeof flags)[number]) => typedNames(flag).join('|');
  const values = flags.filter(({ kind }) => kind !== 'switch');
  const rows = values.map((flag) => {
    const words = wordsOf(flag);
    if (words !== undefined) return `${names(flag)}) values=${lines(words)} ;;`;
    return flag.path === undefined ? null : `${names(flag)}) files=${flag.path} ;;`;
  });
  const free = values.filter((flag) => wordsOf(flag) === undefined && flag.path === undefined);
  const standing = positionals.flatMap(({ choices }) => choices ?? []);
  const path = positionals.find((each) => each.path !== undefined)?.path;
  const otherwise = [
    `flags=${lines(flags.flatMap((flag) => [`--${flag.name}`]))}`,
    ...(standing.length === 0 ? [] : [`values=${lines(standing)}`]),
    ...(path === undefined ? [] : [`[[ $cur == -* ]] || files=${path}`]),
  ];
  return [
    `    ${quoted(name)})`,
    '      case $prev in',
    ...rows.filter((row) => row !== null).map((row) => `        ${row}`),
    ...(free.length === 0 ? [] : [`        ${free.map(names).join('|')}) ;;`]),
    `        *) ${otherwise.join('; ')} ;;`,
    '      esac',
    '      ;;',
  ].join('\n');
}
