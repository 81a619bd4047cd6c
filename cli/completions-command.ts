import { ok } from '../protocol/result.js';
import { type Command, PROGRAM } from './command.js';
import { commandTree } from './completions/command-tree.js';
import { defineCommand } from './define-command.js';
import { isSet } from './global-flags.js';
import { NATIVE_COMMANDS } from './native-commands.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** Prints a script that completes commands, flags and values; it runs no program while the user types. */
export const completionsCommand: Command = defineCommand({
  name: 'completions',
  summary: 'Print the completion script for a shell.',
  positionals: [{ name: 'shell', doc: 'The shell: bash, zsh or fish', choices: SHELLS }],
  examples: [
    `completions bash > ~/.local/share/bash-completion/completions/${PROGRAM}`,
    `completions zsh > "\${fpath[1]}/_${PROGRAM}"`,
    `completions fish > ~/.config/fish/completions/${PROGRAM}.fish`,
  ],
  run: async (parsed, terminal) => {
    const shell = parsed.positionals[0] as Shell;
    const script = await scriptFor(shell);
    await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify({ shell, script })}\n` : script);
    return ok(0);
  },
});

async function scriptFor(shell: Shell): Promise<string> {
  const tree = commandTree(await everyCommand());
  switch (shell) {
    case 'bash':
      return (await import('./completions/bash.js')).bashCompletions(tree);
    case 'zsh':
      return (await import('./completions/zsh.js')).zshCompletions(tree);
    case 'fish':
      return (await import('./completions/fish.js')).fishCompletions(tree);
  }
}

/** All commands, operations first. */
async function everyCommand(): Promise<Command[]> {
  const { operationTable } = await import('./operation-table.js');
  const { operationCommand } = await import('./operation-command.js');
  const operations = await Promise.all((await operationTable()).map((entry) => entry.load()));
  const natives = await Promise.all(Object.values(NATIVE_COMMANDS).map((load) => load()));
  return [...operations.map(operationCommand), ...natives];
}
