import { type DocumentedFlag, PROGRAM, wordsOf } from '../command.js';
import { GLOBAL_FLAGS } from '../global-flags.js';
import {
  ALL_COMMANDS,
  type CommandNode,
  type CommandTree,
  GLOBAL_VALUE_FLAGS,
  HELP,
} from './command-tree.js';

/** The completion script for fish. */
export function fishCompletions(tree: CommandTree): string {
  const groups = [...tree.next.keys()].filter((name) => name !== '');
  const lines: string[] = [];
  for (const [before, words] of tree.next) {
    for (const { word, summary } of words) {
      lines.push(`complete -c ${PROGRAM} -n ${at(before)} -a ${fish(word)} -d ${fish(summary)}`);
    }
  }
  for (const flag of GLOBAL_FLAGS) lines.push(flagLine('', flag));
  lines.push(flagLine(HELP, ALL_COMMANDS));
  for (const command of tree.commands) lines.push(...commandLines(command));
  return `# Completions of ${PROGRAM} for fish.
function __${PROGRAM}_at
    set -l found
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case ${GLOBAL_VALUE_FLAGS.join(' ')}
                set skip 1
            case '-*'
            case '*'
                if test (count $found) -eq 0
                    set found $word
                    contains -- $word ${groups.length === 0 ? "''" : groups.join(' ')}; or break
                else
                    set -a found $word
                    break
                end
        end
    end
    test "$found" = "$argv[1]"
end
complete -c ${PROGRAM} -f
${lines.join('\n')}
`;
}

/** A condition that is true when the words so far name exactly this command. */
const at = (name: string) => fish(`__${PROGRAM}_at ${fish(name)}`);

const fish = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function commandLines({ name, flags, positionals }: CommandNode): string[] {
  const standing = positionals.flatMap(({ choices, path }) => {
    if (choices !== undefined) return [`complete -c ${PROGRAM} -n ${at(name)} -a ${fish(choices.join(' '))}`];
    return path === undefined ? [] : [`complete -c ${PROGRAM} -n ${at(name)} -F`];
  });
  return [...flags.map((flag) => flagLine(name, flag)), ...standing];
}

function flagLine(name: string, flag: DocumentedFlag): string {
  const words = wordsOf(flag);
  const short = flag.short === undefined ? '' : ` -s ${flag.short}`;
  const value =
    flag.kind === 'switch'
      ? ''
      : words !== undefined
        ? ` -x -a ${fish(words.join(' '))}`
        : flag.path === undefined
          ? ' -x'
          : ' -r -F';
  return `complete -c ${PROGRAM} -n ${at(name)} -l ${flag.name}${short}${value} -d ${fish(flag.doc)}`;
}
