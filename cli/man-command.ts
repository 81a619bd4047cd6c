import { ok } from '../protocol/base/result.js';
import { type Command, type CommandTable, PROGRAM } from './command.js';
import { defineCommand } from './define-command.js';
import { everyCommand } from './every-command.js';
import { isSet } from './global-flags.js';

/** Prints the manual page, made from the declarations of the commands and settings. */
export const manCommand = (natives: CommandTable): Command =>
  defineCommand({
    name: 'man',
    summary: 'Print the manual page, in the form that man reads.',
    examples: [`man | man -l -`, `man > ~/.local/share/man/man1/${PROGRAM}.1`],
    run: async (parsed, terminal) => {
      const { manPage } = await import('./man-page.js');
      const page = manPage(await everyCommand(natives));
      await terminal.print(isSet(parsed, 'json') ? `${JSON.stringify({ page })}\n` : page);
      return ok(0);
    },
  });
