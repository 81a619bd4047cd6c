import { ok } from '../protocol/base/result.js';
import { type Command, type CommandTable, PROGRAM } from './command.js';
import { commandTree } from './completions/command-tree.js';
import { defineCommand } from './define-command.js';
import { everyCommand } from './every-command.js';
import { isSet } from './global-flags.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** Prints a script that completes commands, flags and values; the script calls no node while the user types. */
export const completionsCommand = (natives: CommandTable): Command =>
  defineCommand({
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
      const script = await scriptFor(shell, natives);
      await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify({ shell, script })}\n` : script);
      return ok(0);
    },
  });

async function scriptFor(shell: Shell, natives: CommandTable): Promise<string> {
  const tree = commandTree(await everyCommand(natives));
  switch (shell) {
    case 'bash':
      return (await import('./completions/bash.js')).bashCompletions(tree);
    case 'zsh':
      return (await import('./completions/zsh.js')).zshCompletions(tree);
    case 'fish':
      return (await import('./completions/fish.js')).fishCompletions(tree);
  }
}
